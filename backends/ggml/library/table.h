/*
 * The table of ggml's functions, filled when the library is opened. Nothing here
 * is linked against ggml: a program without it still starts.
 */
#ifndef SHIM_TABLE_H
#define SHIM_TABLE_H

#include "symbols.h"

#define SHIM_FIELD(name) decltype(&ggml_##name) name;
#define SHIM_OPTIONAL_FIELD(name, result, argument) result (*name)(struct ggml_tensor *, enum argument);

/* gg.add is ggml_add, and so on. One copy of ggml serves the whole process. */
struct symbol_table {
    SHIM_BASE_SYMBOLS(SHIM_FIELD)
    SHIM_CPU_SYMBOLS(SHIM_FIELD)
};

/* Null where this version of ggml has no such function. */
struct optional_table {
    SHIM_OPTIONAL_SYMBOLS(SHIM_OPTIONAL_FIELD)
};

extern struct symbol_table gg;
extern struct optional_table gg_optional;

#endif
