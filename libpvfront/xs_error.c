/* SPDX-License-Identifier: MIT */
/*
 * xenstored answers errors as strings, "for portability" (Xen: io/xs_wire.h, xsd_errors). New ones are added at the end
 * of that table, so an unknown string is no protocol error. EQUOTA is what oxenstored says where xenstored says ENOSPC.
 */
#include <pvfront/status.h>

#include "xs_internal.h"

struct error_row {
	char text[12];
	int status;
};

static const struct error_row error_rows[] = {
	{"EINVAL", PVF_STORE_INVALID},      {"EACCES", PVF_STORE_DENIED},
	{"EEXIST", PVF_STORE_EXISTS},       {"EISDIR", PVF_STORE_DIRECTORY},
	{"ENOENT", PVF_STORE_NOT_FOUND},    {"ENOMEM", PVF_STORE_NO_MEMORY},
	{"ENOSPC", PVF_STORE_QUOTA},        {"EIO", PVF_STORE_IO},
	{"ENOTEMPTY", PVF_STORE_NOT_EMPTY}, {"ENOSYS", PVF_STORE_UNKNOWN_OP},
	{"EROFS", PVF_STORE_READ_ONLY},     {"EBUSY", PVF_STORE_BUSY},
	{"EAGAIN", PVF_STORE_CONFLICT},     {"EISCONN", PVF_STORE_CONNECTED},
	{"E2BIG", PVF_STORE_TOO_BIG},       {"EPERM", PVF_STORE_PERMISSION},
	{"EQUOTA", PVF_STORE_QUOTA},
};

static bool error_equals(const struct error_row *row, const char *text, uint32_t length)
{
	uint32_t i;

	if (length >= sizeof(row->text))
		return false;
	for (i = 0; i < length; i++) {
		if (row->text[i] != text[i])
			return false;
	}
	return row->text[length] == '\0';
}

int pvf_xs_error_status(const char *text, uint32_t length)
{
	size_t i;

	for (i = 0; i < sizeof(error_rows) / sizeof(error_rows[0]); i++) {
		if (error_equals(&error_rows[i], text, length))
			return error_rows[i].status;
	}
	return PVF_STORE_OTHER;
}
