/* SPDX-License-Identifier: MIT */
/* Strings of xenstore messages: bounded lengths and the tokens of watches. */
#include "xs_internal.h"

#define SLOT_DIGITS 3u
#define GENERATION_DIGITS 8u

uint32_t pvf_xs_length(const char *text, uint32_t limit)
{
	uint32_t length = 0;

	while (length <= limit && text[length] != '\0')
		length++;
	return length;
}

static void hex_write(char *text, uint32_t number, uint32_t digits)
{
	while (digits > 0) {
		digits--;
		text[digits] = "0123456789abcdef"[number & 15u];
		number >>= 4;
	}
}

static bool hex_read(const char *text, uint32_t digits, uint32_t *number)
{
	uint32_t i;
	uint32_t value = 0;

	for (i = 0; i < digits; i++) {
		uint32_t c = (uint8_t)text[i];

		if (c >= '0' && c <= '9')
			value = value << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value << 4 | (c - 'a' + 10u);
		else
			return false;
	}
	*number = value;
	return true;
}

void pvf_xs_token(char *text, uint32_t slot, uint32_t generation)
{
	hex_write(text, slot, SLOT_DIGITS);
	text[SLOT_DIGITS] = '.';
	hex_write(text + SLOT_DIGITS + 1u, generation, GENERATION_DIGITS);
	text[XS_TOKEN_SIZE - 1u] = '\0';
}

/* Every step stops at a character that is no digit, so a short text is never read past its NUL. */
bool pvf_xs_token_parse(const char *text, uint32_t *slot, uint32_t *generation)
{
	return hex_read(text, SLOT_DIGITS, slot) && text[SLOT_DIGITS] == '.' &&
	       hex_read(text + SLOT_DIGITS + 1u, GENERATION_DIGITS, generation) && text[XS_TOKEN_SIZE - 1u] == '\0';
}
