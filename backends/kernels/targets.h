/*
 * For files that compile one text for several instruction sets: BEGIN_FOR("avx2,fma")
 * and END_FOR stand around what is compiled for a processor.
 */
#ifndef KERNELS_TARGETS_H
#define KERNELS_TARGETS_H

#if defined(__x86_64__)
#define KERNELS_X86
#include <immintrin.h>
#endif

// Vectors stay within a file: it does not matter how others would pass them.
#pragma GCC diagnostic ignored "-Wpsabi"
#if !defined(__clang__)  // of gcc 12's own headers
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define TEXT(...) #__VA_ARGS__
#if defined(__clang__)
#define BEGIN_FOR(processor) \
    _Pragma(TEXT(clang attribute push(__attribute__((target(processor))), apply_to = function)))
#define END_FOR _Pragma("clang attribute pop")
#else
#define BEGIN_FOR(processor) _Pragma("GCC push_options") _Pragma(TEXT(GCC target(processor)))
#define END_FOR _Pragma("GCC pop_options")
#endif

#endif
