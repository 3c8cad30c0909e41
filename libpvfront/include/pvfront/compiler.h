/* SPDX-License-Identifier: MIT */
/*
 * The only file with compiler words: barriers, atomic words, hints. Three branches:
 *   TSAN   ThreadSanitizer does not understand asm: release stores, acquire loads, a seq_cst RMW for the full barrier
 *   GNU    gcc and clang on x86, arm, riscv64, ppc64le
 *   MSVC   intrinsics, x64 and arm64
 *
 * All barriers are the SMP ones, also on a machine with one CPU: the peer runs on another (PROTOCOL, "ring, grants,
 * events").
 */
#ifndef PVFRONT_COMPILER_H
#define PVFRONT_COMPILER_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define PVF_COMPILER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PVF_COMPILER_TSAN 1
#endif
#endif

#define PVF_CACHE_LINE 64

/* ------------------------------------------------------------------ TSAN */
#if defined(PVF_COMPILER_TSAN)

#define PVF_INLINE static inline __attribute__((always_inline))
#define PVF_NOINLINE __attribute__((noinline))
#define PVF_LIKELY(x) __builtin_expect(!!(x), 1)
#define PVF_UNLIKELY(x) __builtin_expect(!!(x), 0)

extern volatile uint32_t pvf_tsan_barrier;

PVF_INLINE void pvf_barrier(void)
{
	__asm__ volatile("" ::: "memory");
}

PVF_INLINE void pvf_mb(void)
{
	(void)__atomic_fetch_add(&pvf_tsan_barrier, 1u, __ATOMIC_SEQ_CST);
}

PVF_INLINE void pvf_relax(void)
{
	pvf_barrier();
}

PVF_INLINE uint32_t pvf_load32(const volatile uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

PVF_INLINE void pvf_store32(volatile uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

PVF_INLINE uint32_t pvf_load32_acquire(const volatile uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

PVF_INLINE void pvf_store32_release(volatile uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------ GNU */
#elif defined(__GNUC__)

#define PVF_INLINE static inline __attribute__((always_inline))
#define PVF_NOINLINE __attribute__((noinline))
#define PVF_LIKELY(x) __builtin_expect(!!(x), 1)
#define PVF_UNLIKELY(x) __builtin_expect(!!(x), 0)

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "libpvfront is little-endian only: so is the protocol"
#endif

PVF_INLINE void pvf_barrier(void)
{
	__asm__ volatile("" ::: "memory");
}

#if defined(__x86_64__)
/* A locked add is a full barrier for write-back memory and cheaper than mfence. */
PVF_INLINE void pvf_mb(void)
{
	__asm__ volatile("lock; addl $0, -4(%%rsp)" ::: "memory", "cc");
}
#define PVF_ASM_ACQUIRE ""
#define PVF_ASM_RELEASE ""
#define PVF_ASM_RELAX "pause"
#elif defined(__i386__)
PVF_INLINE void pvf_mb(void)
{
	__asm__ volatile("lock; addl $0, -4(%%esp)" ::: "memory", "cc");
}
#define PVF_ASM_ACQUIRE ""
#define PVF_ASM_RELEASE ""
#define PVF_ASM_RELAX "pause"
#elif defined(__aarch64__)
PVF_INLINE void pvf_mb(void)
{
	__asm__ volatile("dmb ish" ::: "memory");
}
#define PVF_ASM_ACQUIRE "dmb ishld"
#define PVF_ASM_RELEASE "dmb ish"
#define PVF_ASM_RELAX "yield"
#elif defined(__arm__)
PVF_INLINE void pvf_mb(void)
{
	__asm__ volatile("dmb ish" ::: "memory");
}
#define PVF_ASM_ACQUIRE "dmb ish"
#define PVF_ASM_RELEASE "dmb ish"
#define PVF_ASM_RELAX "yield"
#elif defined(__riscv)
PVF_INLINE void pvf_mb(void)
{
	__asm__ volatile("fence rw, rw" ::: "memory");
}
#define PVF_ASM_ACQUIRE "fence r, rw"
#define PVF_ASM_RELEASE "fence rw, w"
#define PVF_ASM_RELAX "nop"
#elif defined(__powerpc64__)
PVF_INLINE void pvf_mb(void)
{
	__asm__ volatile("sync" ::: "memory");
}
#define PVF_ASM_ACQUIRE "lwsync"
#define PVF_ASM_RELEASE "lwsync"
#define PVF_ASM_RELAX "or 27, 27, 27"
#else
#error "no barriers are written down for this CPU"
#endif

PVF_INLINE void pvf_relax(void)
{
	__asm__ volatile(PVF_ASM_RELAX ::: "memory");
}

PVF_INLINE uint32_t pvf_load32(const volatile uint32_t *word)
{
	return *word;
}

PVF_INLINE void pvf_store32(volatile uint32_t *word, uint32_t value)
{
	*word = value;
}

PVF_INLINE uint32_t pvf_load32_acquire(const volatile uint32_t *word)
{
	uint32_t value = *word;
	__asm__ volatile(PVF_ASM_ACQUIRE ::: "memory");
	return value;
}

PVF_INLINE void pvf_store32_release(volatile uint32_t *word, uint32_t value)
{
	__asm__ volatile(PVF_ASM_RELEASE ::: "memory");
	*word = value;
}

/* ------------------------------------------------------------------ MSVC */
#elif defined(_MSC_VER)

#define PVF_INLINE static __forceinline
#define PVF_NOINLINE __declspec(noinline)
#define PVF_LIKELY(x) (x)
#define PVF_UNLIKELY(x) (x)

void _ReadWriteBarrier(void);
long _InterlockedExchangeAdd(long volatile *, long);
long _InterlockedCompareExchange(long volatile *, long, long);
void *_InterlockedCompareExchangePointer(void *volatile *, void *, void *);
void *_InterlockedExchangePointer(void *volatile *, void *);
#pragma intrinsic(_ReadWriteBarrier, _InterlockedExchangeAdd, _InterlockedCompareExchange)
#pragma intrinsic(_InterlockedCompareExchangePointer, _InterlockedExchangePointer)

PVF_INLINE void pvf_barrier(void)
{
	_ReadWriteBarrier();
}

#if defined(_M_ARM64)
void __dmb(unsigned int);
void __yield(void);
#pragma intrinsic(__dmb, __yield)
#define PVF_DMB_ISH 0xb
#define PVF_DMB_ISHLD 0x9
PVF_INLINE void pvf_mb(void)
{
	__dmb(PVF_DMB_ISH);
}
PVF_INLINE void pvf_relax(void)
{
	__yield();
}
PVF_INLINE void pvf_msvc_acquire(void)
{
	__dmb(PVF_DMB_ISHLD);
}
PVF_INLINE void pvf_msvc_release(void)
{
	__dmb(PVF_DMB_ISH);
}
#elif defined(_M_X64) || defined(_M_IX86)
void _mm_pause(void);
#pragma intrinsic(_mm_pause)
/* A locked RMW on the stack: a full barrier, and no dependence on <intrin.h>. */
PVF_INLINE void pvf_mb(void)
{
	long volatile word = 0;
	(void)_InterlockedExchangeAdd(&word, 0);
}
PVF_INLINE void pvf_relax(void)
{
	_mm_pause();
}
PVF_INLINE void pvf_msvc_acquire(void)
{
	_ReadWriteBarrier();
}
PVF_INLINE void pvf_msvc_release(void)
{
	_ReadWriteBarrier();
}
#else
#error "no barriers are written down for this CPU"
#endif

PVF_INLINE uint32_t pvf_load32(const volatile uint32_t *word)
{
	return *word;
}

PVF_INLINE void pvf_store32(volatile uint32_t *word, uint32_t value)
{
	*word = value;
}

PVF_INLINE uint32_t pvf_load32_acquire(const volatile uint32_t *word)
{
	uint32_t value = *word;
	pvf_msvc_acquire();
	return value;
}

PVF_INLINE void pvf_store32_release(volatile uint32_t *word, uint32_t value)
{
	pvf_msvc_release();
	*word = value;
}

#else
#error "libpvfront is compiled by gcc, clang or MSVC"
#endif

/* ------------------------------------------------------------------ read-modify-write, all sequentially consistent */
#if defined(__GNUC__)

PVF_INLINE uint32_t pvf_add32(volatile uint32_t *word, uint32_t value)
{
	return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
}

/* True when *word was `expected` and is now `value`. */
PVF_INLINE bool pvf_cas32(volatile uint32_t *word, uint32_t expected, uint32_t value)
{
	return __atomic_compare_exchange_n(word, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

PVF_INLINE bool pvf_cas_pointer(void *volatile *word, void *expected, void *value)
{
	return __atomic_compare_exchange_n(word, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

PVF_INLINE void *pvf_exchange_pointer(void *volatile *word, void *value)
{
	return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
}

#else

PVF_INLINE uint32_t pvf_add32(volatile uint32_t *word, uint32_t value)
{
	return (uint32_t)_InterlockedExchangeAdd((long volatile *)word, (long)value);
}

PVF_INLINE bool pvf_cas32(volatile uint32_t *word, uint32_t expected, uint32_t value)
{
	return (uint32_t)_InterlockedCompareExchange((long volatile *)word, (long)value, (long)expected) == expected;
}

PVF_INLINE bool pvf_cas_pointer(void *volatile *word, void *expected, void *value)
{
	return _InterlockedCompareExchangePointer(word, value, expected) == expected;
}

PVF_INLINE void *pvf_exchange_pointer(void *volatile *word, void *value)
{
	return _InterlockedExchangePointer(word, value);
}

#endif

/*
 * Words of a ring entry. Eight bytes where the CPU moves them at once, two words elsewhere: an entry is published by its
 * index, so tearing does not matter, but the compiler must neither repeat nor invent an access (XSA-155).
 */
#if UINTPTR_MAX > 0xffffffffu
PVF_INLINE uint64_t pvf_load64(const volatile uint64_t *word)
{
	return *word;
}

PVF_INLINE void pvf_store64(volatile uint64_t *word, uint64_t value)
{
	*word = value;
}
#else
PVF_INLINE uint64_t pvf_load64(const volatile uint64_t *word)
{
	const volatile uint32_t *half = (const volatile uint32_t *)word;
	uint64_t low = half[0];
	return low | (uint64_t)half[1] << 32;
}

PVF_INLINE void pvf_store64(volatile uint64_t *word, uint64_t value)
{
	volatile uint32_t *half = (volatile uint32_t *)word;
	half[0] = (uint32_t)value;
	half[1] = (uint32_t)(value >> 32);
}
#endif

#endif
