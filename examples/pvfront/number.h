/* SPDX-License-Identifier: MIT */
/* Numbers from the command line, read strictly. */
#ifndef NUMBER_H
#define NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits and at most one of the suffixes K M G T (powers of 1024). `why` says what is wrong with it otherwise. */
bool number_parse(const char *text, uint64_t *value, const char **why);

/* Seconds with up to three decimals, as milliseconds. */
bool number_parse_seconds(const char *text, uint64_t *ms, const char **why);

#endif
