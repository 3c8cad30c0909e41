/* SPDX-License-Identifier: MIT */
/* The functions that a freestanding program takes from outside; <string.h> need not exist there. */
#ifndef PVFRONT_SIM_VBD_MEMORY_H
#define PVFRONT_SIM_VBD_MEMORY_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memset(void *memory, int value, size_t bytes);

#endif
