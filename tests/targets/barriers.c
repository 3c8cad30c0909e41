/* SPDX-License-Identifier: MIT */
/*
 * One function per barrier and atomic word of compiler.h. Never run: barrier.py disassembles it and looks for the
 * instruction that each must have become.
 */
#include <pvfront/compiler.h>

extern uint32_t barrier_plain;

void barrier_full(void);
void barrier_compiler(void);
uint32_t barrier_load_acquire(const volatile uint32_t *word);
void barrier_store_release(volatile uint32_t *word, uint32_t value);
uint32_t barrier_add(volatile uint32_t *word, uint32_t value);
bool barrier_cas(volatile uint32_t *word, uint32_t expected, uint32_t value);
bool barrier_cas_pointer(void *volatile *word, void *expected, void *value);
void *barrier_exchange_pointer(void *volatile *word, void *value);

void barrier_full(void)
{
	pvf_mb();
}

/* No instruction of its own: the first of two stores to the same plain word must survive. */
void barrier_compiler(void)
{
	barrier_plain = 1;
	pvf_barrier();
	barrier_plain = 2;
}

uint32_t barrier_load_acquire(const volatile uint32_t *word)
{
	return pvf_load32_acquire(word);
}

void barrier_store_release(volatile uint32_t *word, uint32_t value)
{
	pvf_store32_release(word, value);
}

uint32_t barrier_add(volatile uint32_t *word, uint32_t value)
{
	return pvf_add32(word, value);
}

bool barrier_cas(volatile uint32_t *word, uint32_t expected, uint32_t value)
{
	return pvf_cas32(word, expected, value);
}

bool barrier_cas_pointer(void *volatile *word, void *expected, void *value)
{
	return pvf_cas_pointer(word, expected, value);
}

void *barrier_exchange_pointer(void *volatile *word, void *value)
{
	return pvf_exchange_pointer(word, value);
}
