/* SPDX-License-Identifier: MIT */
/* Writes JSON, one value after the other. Inside an object the name comes first; inside an array it is NULL. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *file;
	bool more; /* something stands before the next value in this object or array */
};

void json_object(struct json *json, const char *name);
void json_object_end(struct json *json);
void json_array(struct json *json, const char *name);
void json_array_end(struct json *json);

void json_null(struct json *json, const char *name);
void json_bool(struct json *json, const char *name, bool value);
void json_number(struct json *json, const char *name, uint64_t value);
void json_signed(struct json *json, const char *name, int64_t value);
/* Not a number and infinity become null: JSON has neither. */
void json_real(struct json *json, const char *name, double value);
/* NULL becomes null. */
void json_string(struct json *json, const char *name, const char *value);
/* Any bytes: what is not valid UTF-8 is written as \u00XX, byte by byte. */
void json_bytes(struct json *json, const char *name, const void *value, size_t length);

#endif
