/* SPDX-License-Identifier: MIT */
/*
 * Words that a C compiler for Windows drivers does not know, made errors. Forced in front of every source of the core
 * when it is compiled for Windows; clang accepts these words on that target too, so only poison shows them.
 *
 * The allowed headers come first: their own macros may expand to poisoned words, which is clang's affair.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#error "a Windows target that says it is GNU would take the wrong branch of compiler.h: pass -fgnuc-version=0"
#endif
#if !defined(_MSC_VER)
#error "a Windows target without _MSC_VER would take no branch of compiler.h"
#endif

/* GNU C. */
#pragma GCC poison __attribute__ __attribute asm __asm __asm__ typeof __typeof __typeof__ __auto_type __extension__
#pragma GCC poison __label__ __int128 __int128_t __uint128_t __inline__ __volatile__ __const__ __restrict__ __alignof__
#pragma GCC poison __thread __complex__ __real__ __imag__ __null alloca __builtin_alloca

/* Builtins; those that the allowed headers define a macro with stay usable through that macro. */
#pragma GCC poison __builtin_expect __builtin_unreachable __builtin_trap __builtin_assume __builtin_constant_p
#pragma GCC poison __builtin_types_compatible_p __builtin_choose_expr __builtin_offsetof __builtin_prefetch
#pragma GCC poison __builtin_ctz __builtin_ctzl __builtin_ctzll __builtin_clz __builtin_clzl __builtin_clzll
#pragma GCC poison __builtin_ffs __builtin_ffsl __builtin_ffsll __builtin_popcount __builtin_popcountll
#pragma GCC poison __builtin_bswap16 __builtin_bswap32 __builtin_bswap64 __builtin_add_overflow __builtin_sub_overflow
#pragma GCC poison __builtin_mul_overflow __builtin_memcpy __builtin_memmove __builtin_memset __builtin_memcmp
#pragma GCC poison __builtin_strlen __builtin_object_size __builtin_assume_aligned __builtin_return_address
#pragma GCC poison __builtin_frame_address __builtin_is_constant_evaluated

/* Atomics: <stdatomic.h> and _Atomic need an experimental switch there. */
#pragma GCC poison __atomic_load_n __atomic_store_n __atomic_exchange_n __atomic_compare_exchange_n __atomic_fetch_add
#pragma GCC poison __atomic_fetch_sub __atomic_fetch_and __atomic_fetch_or __atomic_fetch_xor __atomic_add_fetch
#pragma GCC poison __atomic_sub_fetch __atomic_and_fetch __atomic_or_fetch __atomic_load __atomic_store
#pragma GCC poison __atomic_exchange __atomic_compare_exchange __atomic_test_and_set __atomic_clear
#pragma GCC poison __atomic_thread_fence __atomic_signal_fence __sync_synchronize __sync_bool_compare_and_swap
#pragma GCC poison __sync_val_compare_and_swap __sync_fetch_and_add __sync_fetch_and_or __sync_lock_test_and_set
#pragma GCC poison __sync_lock_release _Atomic __c11_atomic_load __c11_atomic_store __c11_atomic_thread_fence

/* C that a driver must not use, or that compiler does not have. */
#pragma GCC poison float double _Complex _Imaginary _Thread_local _Noreturn
