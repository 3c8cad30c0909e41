/* SPDX-License-Identifier: MIT */
#include "text.h"

void pvf_text_start(struct pvf_text *text, char *memory, uint32_t bytes)
{
	text->at = memory;
	text->used = 0;
	text->room = bytes;
	text->cut = bytes == 0;
	if (bytes)
		memory[0] = 0;
}

static void add_char(struct pvf_text *text, char c)
{
	if (text->used + 1u >= text->room) {
		text->cut = true;
		return;
	}
	text->at[text->used++] = c;
	text->at[text->used] = 0;
}

void pvf_text_add(struct pvf_text *text, const char *string)
{
	while (*string)
		add_char(text, *string++);
}

void pvf_text_peer(struct pvf_text *text, const void *bytes, uint32_t length)
{
	const char *p = (const char *)bytes;
	uint32_t shown = length < 64u ? length : 64u;

	for (uint32_t i = 0; i < shown; i++)
		add_char(text, p[i] >= ' ' && p[i] <= '~' ? p[i] : '?');
	if (shown < length)
		pvf_text_add(text, "...");
}

#define PATH_SHOWN 80u

void pvf_text_path(struct pvf_text *text, const char *path)
{
	uint32_t length = pvf_text_length(path);

	if (length > PATH_SHOWN) {
		pvf_text_add(text, "...");
		path += length - (PATH_SHOWN - 3u);
	}
	pvf_text_add(text, path);
}

/* By subtraction: a 64-bit division is a library call on 32-bit CPUs. */
static const uint64_t powers_of_ten[] = {
	10000000000000000000u,
	1000000000000000000u,
	100000000000000000u,
	10000000000000000u,
	1000000000000000u,
	100000000000000u,
	10000000000000u,
	1000000000000u,
	100000000000u,
	10000000000u,
	1000000000u,
	100000000u,
	10000000u,
	1000000u,
	100000u,
	10000u,
	1000u,
	100u,
	10u,
	1u,
};

void pvf_text_number(struct pvf_text *text, uint64_t number)
{
	bool started = false;

	for (uint32_t i = 0; i < sizeof(powers_of_ten) / sizeof(powers_of_ten[0]); i++) {
		char digit = '0';

		while (number >= powers_of_ten[i]) {
			number -= powers_of_ten[i];
			digit++;
		}
		started = started || digit != '0' || powers_of_ten[i] == 1u;
		if (started)
			add_char(text, digit);
	}
}

uint32_t pvf_text_length(const char *string)
{
	uint32_t n = 0;

	while (string[n])
		n++;
	return n;
}

bool pvf_text_parse(const void *bytes, uint32_t length, uint64_t *number)
{
	const char *p = (const char *)bytes;
	uint64_t value = 0;

	if (length && p[length - 1u] == 0)
		length--;
	if (length == 0 || length > 20u)
		return false;
	for (uint32_t i = 0; i < length; i++) {
		uint32_t digit = (uint32_t)(uint8_t)p[i] - '0';

		if (digit > 9u || value > UINT64_MAX / 10u || value * 10u > UINT64_MAX - digit)
			return false;
		value = value * 10u + digit;
	}
	*number = value;
	return true;
}
