/* SPDX-License-Identifier: MIT */
#include "number.h"

#include <stddef.h>
#include <string.h>

static const char too_large[] = "is too large";

/* The digits at *text; leaves *text behind them. */
static bool digits(const char **text, uint64_t *value, const char **why)
{
	uint64_t sum = 0;

	if (**text < '0' || **text > '9') {
		*why = "is not a number";
		return false;
	}
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		uint64_t digit = (uint64_t)(**text - '0');
		if (sum > (UINT64_MAX - digit) / 10) {
			*why = too_large;
			return false;
		}
		sum = sum * 10 + digit;
	}
	*value = sum;
	return true;
}

bool number_parse(const char *text, uint64_t *value, const char **why)
{
	static const char suffixes[] = "KMGT";
	uint32_t shift = 0;

	if (!digits(&text, value, why))
		return false;
	if (*text != '\0') {
		const char *suffix = strchr(suffixes, *text);
		if (suffix == NULL || text[1] != '\0') {
			*why = "is not a number: digits, then at most one of K, M, G, T";
			return false;
		}
		shift = 10u * ((uint32_t)(suffix - suffixes) + 1u);
	}
	if (*value > UINT64_MAX >> shift) {
		*why = too_large;
		return false;
	}
	*value <<= shift;
	return true;
}

bool number_parse_seconds(const char *text, uint64_t *ms, const char **why)
{
	static const char form[] = "is not a number of seconds, as 2 or 0.25";
	uint64_t scale = 100;

	if (!digits(&text, ms, why)) {
		*why = form;
		return false;
	}
	if (*ms > 1000000000u) {
		*why = too_large;
		return false;
	}
	*ms *= 1000;
	if (*text == '.') {
		for (text++; *text >= '0' && *text <= '9' && scale > 0; text++, scale /= 10)
			*ms += (uint64_t)(*text - '0') * scale;
	}
	if (*text != '\0') {
		*why = form;
		return false;
	}
	return true;
}
