/* SPDX-License-Identifier: MIT */
/* Store operations in one word each, for the wire client's tests. */
#ifndef PVFRONT_TESTS_XS_OPS_H
#define PVFRONT_TESTS_XS_OPS_H

#include <pvfront/host.h>

#include <string.h>

static inline struct pvf_store_op xs_read(const char *path, void *value, uint32_t capacity)
{
	struct pvf_store_op op = {PVF_STORE_READ, 1234, path, value, capacity, 4321};

	return op;
}

static inline struct pvf_store_op xs_list(const char *path, void *value, uint32_t capacity)
{
	struct pvf_store_op op = {PVF_STORE_LIST, 1234, path, value, capacity, 4321};

	return op;
}

static inline struct pvf_store_op xs_write(const char *path, char *value)
{
	struct pvf_store_op op = {PVF_STORE_WRITE, 1234, path, value, 0, (uint32_t)strlen(value)};

	return op;
}

static inline struct pvf_store_op xs_remove(const char *path)
{
	struct pvf_store_op op = {PVF_STORE_REMOVE, 1234, path, NULL, 0, 0};

	return op;
}

#endif
