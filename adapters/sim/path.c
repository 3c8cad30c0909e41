/* SPDX-License-Identifier: MIT */
/* Paths of the store, and the decimal numbers in its messages. */
#include "store.h"

#include "bytes.h"

uint32_t store_length(const char *text)
{
	uint32_t length = 0;

	while (text[length])
		length++;
	return length;
}

bool store_same(const char *a, const char *b)
{
	uint32_t length = store_length(a);

	return length == store_length(b) && memcmp(a, b, length) == 0;
}

/* "Paths ... contain only ASCII alphanumerics and the four punctuation characters -/_@" (Xen: docs/misc/xenstore.txt). */
static bool is_path_char(char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
		return true;
	return c == '-' || c == '/' || c == '_' || c == '@';
}

static bool is_valid(const char *path, uint32_t length)
{
	if (length == 0 || (length > 1 && path[length - 1] == '/'))
		return false;
	for (uint32_t i = 0; i < length; i++) {
		if (!is_path_char(path[i]) || (path[i] == '/' && path[i + 1] == '/'))
			return false;
	}
	return true;
}

enum store_error store_absolute(uint16_t domid, const char *path, char absolute[STORE_PATH_ROOM])
{
	uint32_t length = store_length(path), at = 0;

	if (!is_valid(path, length))
		return STORE_EINVAL;
	if (path[0] != '/' && path[0] != '@') {
		if (length > PVF_WIRE_XS_REL_PATH_MAX)
			return STORE_EINVAL;
		at = store_put_text(absolute, at, "/local/domain/");
		at = store_put_number(absolute, at, domid);
		at = store_put_text(absolute, at, "/");
	}
	if (length > PVF_WIRE_XS_ABS_PATH_MAX - at)
		return STORE_EINVAL;
	(void)store_put_text(absolute, at, path);
	return STORE_OK;
}

uint32_t store_parent(const char *path, uint32_t length)
{
	while (length > 1 && path[length - 1] != '/')
		length--;
	return length > 1 ? length - 1 : 1;
}

const char *store_leaf(const char *path)
{
	const char *leaf = path;

	for (; *path; path++) {
		if (*path == '/')
			leaf = path + 1;
	}
	return leaf;
}

bool store_is_below(const char *path, const char *of)
{
	uint32_t length = store_length(of);

	if (length == 1 && of[0] == '/')
		return path[0] == '/';
	if (store_length(path) < length || memcmp(path, of, length) != 0)
		return false;
	return path[length] == '\0' || path[length] == '/';
}

uint32_t store_put_text(char *out, uint32_t at, const char *text)
{
	uint32_t length = store_length(text);

	memcpy(out + at, text, length + 1);
	return at + length;
}

/* Long division by ten, sixteen bits at a time: 64-bit division is a library call on some machines. */
uint32_t store_put_number(char *out, uint32_t at, uint64_t number)
{
	char digits[20];
	uint32_t n = 0;

	do {
		uint32_t rest = 0;
		uint64_t quotient = 0;

		for (int shift = 48; shift >= 0; shift -= 16) {
			uint32_t part = rest << 16 | (uint32_t)(number >> shift & 0xffffu);

			quotient |= (uint64_t)(part / 10u) << shift;
			rest = part % 10u;
		}
		digits[n++] = (char)('0' + rest);
		number = quotient;
	} while (number);

	while (n)
		out[at++] = digits[--n];
	out[at] = '\0';
	return at;
}

bool store_number(const char *text, uint32_t *number)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10u + (uint64_t)(*text - '0');
		if (value > 0xffffffffu)
			return false;
	}
	*number = (uint32_t)value;
	return true;
}
