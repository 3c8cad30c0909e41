/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/*
 * Length of the valid UTF-8 sequence at `at` (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF), 0 for none.
 */
static size_t utf8_length(const uint8_t *at, size_t left)
{
	static const struct {
		uint8_t first_low, first_high, second_low, second_high;
		size_t length;
	} rows[] = {
		{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (at[0] < rows[i].first_low || at[0] > rows[i].first_high)
			continue;
		if (left < rows[i].length || at[1] < rows[i].second_low || at[1] > rows[i].second_high)
			return 0;
		for (size_t j = 2; j < rows[i].length; j++)
			if ((at[j] & 0xc0) != 0x80)
				return 0;
		return rows[i].length;
	}
	return 0;
}

static void quoted(FILE *file, const uint8_t *text, size_t length)
{
	(void)fputc('"', file);
	for (size_t i = 0; i < length; i++) {
		uint8_t byte = text[i];
		size_t run = byte >= 0x80 ? utf8_length(text + i, length - i) : 0;

		if (run > 0) {
			(void)fwrite(text + i, 1, run, file);
			i += run - 1;
		} else if (byte == '"' || byte == '\\') {
			(void)fprintf(file, "\\%c", byte);
		} else if (byte == '\n') {
			(void)fputs("\\n", file);
		} else if (byte < 0x20 || byte >= 0x7f) {
			(void)fprintf(file, "\\u%04x", byte);
		} else {
			(void)fputc(byte, file);
		}
	}
	(void)fputc('"', file);
}

static void begin(struct json *json, const char *name)
{
	if (json->more)
		(void)fputc(',', json->file);
	json->more = true;
	if (name != NULL) {
		quoted(json->file, (const uint8_t *)name, strlen(name));
		(void)fputc(':', json->file);
	}
}

static void open_nest(struct json *json, const char *name, int bracket)
{
	begin(json, name);
	(void)fputc(bracket, json->file);
	json->more = false;
}

static void close_nest(struct json *json, int bracket)
{
	(void)fputc(bracket, json->file);
	json->more = true;
}

void json_object(struct json *json, const char *name)
{
	open_nest(json, name, '{');
}

void json_object_end(struct json *json)
{
	close_nest(json, '}');
}

void json_array(struct json *json, const char *name)
{
	open_nest(json, name, '[');
}

void json_array_end(struct json *json)
{
	close_nest(json, ']');
}

void json_null(struct json *json, const char *name)
{
	begin(json, name);
	(void)fputs("null", json->file);
}

void json_bool(struct json *json, const char *name, bool value)
{
	begin(json, name);
	(void)fputs(value ? "true" : "false", json->file);
}

void json_number(struct json *json, const char *name, uint64_t value)
{
	begin(json, name);
	(void)fprintf(json->file, "%" PRIu64, value);
}

void json_signed(struct json *json, const char *name, int64_t value)
{
	begin(json, name);
	(void)fprintf(json->file, "%" PRId64, value);
}

void json_real(struct json *json, const char *name, double value)
{
	if (!isfinite(value)) {
		json_null(json, name);
		return;
	}
	begin(json, name);
	(void)fprintf(json->file, "%.6f", value);
}

void json_bytes(struct json *json, const char *name, const void *value, size_t length)
{
	begin(json, name);
	quoted(json->file, value, length);
}

void json_string(struct json *json, const char *name, const char *value)
{
	if (value == NULL)
		json_null(json, name);
	else
		json_bytes(json, name, value, strlen(value));
}
