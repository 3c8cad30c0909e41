/* SPDX-License-Identifier: MIT */
/* The four functions the simulator takes from outside: as the core, it includes no <string.h>. */
#ifndef PVFRONT_SIM_BYTES_H
#define PVFRONT_SIM_BYTES_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

#endif
