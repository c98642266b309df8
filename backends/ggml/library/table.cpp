#include "table.h"

#include <iterator>

#include "library.h"

struct symbol_table gg;
struct optional_table gg_optional;

namespace {

struct entry {
    const char *name;
    void **slot;
    int32_t where;
};

#define BASE(name) {"ggml_" #name, reinterpret_cast<void **>(&gg.name), SHIM_IN_BASE},
#define CPU(name) {"ggml_" #name, reinterpret_cast<void **>(&gg.name), SHIM_IN_CPU},
#define OPTIONAL(name, result, argument) \
    {"ggml_" #name, reinterpret_cast<void **>(&gg_optional.name), SHIM_IN_BASE_OR_ABSENT},

const entry entries[] = {SHIM_BASE_SYMBOLS(BASE) SHIM_CPU_SYMBOLS(CPU) SHIM_OPTIONAL_SYMBOLS(OPTIONAL)};

}  // namespace

int32_t shim_symbol_count(void) { return static_cast<int32_t>(std::size(entries)); }
const char *shim_symbol_name(int32_t i) { return entries[i].name; }
int32_t shim_symbol_where(int32_t i) { return entries[i].where; }
void shim_symbol_set(int32_t i, uintptr_t address) { *entries[i].slot = reinterpret_cast<void *>(address); }
