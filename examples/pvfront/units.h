/* SPDX-License-Identifier: MIT */
/* Numbers as a person reads them. Each writes into `text` and returns it. */
#ifndef UNITS_H
#define UNITS_H

#include <stdint.h>

#define UNITS_TEXT 32

char *units_bytes(char text[UNITS_TEXT], uint64_t bytes);    /* "512 MiB", "1.5 KiB" */
char *units_rate(char text[UNITS_TEXT], double per_second);  /* "1.25 GB/s" */
char *units_count(char text[UNITS_TEXT], double count);      /* "213 k" */
char *units_time(char text[UNITS_TEXT], double nanoseconds); /* "12.1 µs" */
char *units_clock(char text[UNITS_TEXT], uint64_t seconds);  /* "1:05", "2:00:13" */

#endif
