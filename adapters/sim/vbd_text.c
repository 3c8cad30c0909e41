/* SPDX-License-Identifier: MIT */
#include "vbd_text.h"

/* Digits by subtraction: a 64-bit division would be a libgcc call on 32-bit targets. */
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
#define POWERS (sizeof(powers_of_ten) / sizeof(powers_of_ten[0]))

static void add_character(struct vbd_text *text, char character)
{
	if (text->length + 1 >= text->room) {
		text->cut = true;
		return;
	}
	text->memory[text->length++] = character;
	text->memory[text->length] = '\0';
}

void vbd_text_start(struct vbd_text *text, char *memory, uint32_t room)
{
	text->memory = memory;
	text->room = room;
	text->length = 0;
	text->cut = false;
	memory[0] = '\0';
}

void vbd_text_add(struct vbd_text *text, const char *string)
{
	for (; *string; string++)
		add_character(text, *string);
}

void vbd_text_number(struct vbd_text *text, uint64_t number)
{
	bool started = false;

	for (uint32_t i = 0; i < POWERS; i++) {
		char digit = '0';

		for (; number >= powers_of_ten[i]; number -= powers_of_ten[i])
			digit++;
		started |= digit != '0' || i == POWERS - 1;
		if (started)
			add_character(text, digit);
	}
}

uint32_t vbd_text_length(const char *string)
{
	uint32_t length = 0;

	while (string[length])
		length++;
	return length;
}

bool vbd_text_is(const char *bytes, uint32_t length, const char *string)
{
	for (uint32_t i = 0; i < length; i++)
		if (!string[i] || bytes[i] != string[i])
			return false;
	return string[length] == '\0';
}

bool vbd_text_parse(const char *bytes, uint32_t length, uint32_t *number)
{
	uint64_t value = 0;

	if (length < 1 || length > 10)
		return false;
	for (uint32_t i = 0; i < length; i++) {
		if (bytes[i] < '0' || bytes[i] > '9')
			return false;
		value = value * 10 + (uint32_t)(bytes[i] - '0');
	}
	if (value > UINT32_MAX)
		return false;
	*number = (uint32_t)value;
	return true;
}
