/* SPDX-License-Identifier: MIT */
/* Names and texts of the status codes. */
#include <pvfront/status.h>

#include <stddef.h>

struct status_row {
	int status;
	const char *name;
	const char *text;
};

#define ROW(status, text) \
	{ \
		status, #status, text \
	}

static const struct status_row status_rows[] = {
	ROW(PVF_OK, "done"),
	ROW(PVF_AGAIN, "not possible right now; try again after the next event"),
	ROW(PVF_INVALID, "an argument is wrong"),
	ROW(PVF_RANGE, "beyond the end of the device or outside the limits"),
	ROW(PVF_ALIGN, "not a multiple of the sector size"),
	ROW(PVF_NO_MEMORY, "the host has no memory left"),
	ROW(PVF_NO_SPACE, "the host has no grants or event channels left"),
	ROW(PVF_IO, "the backend answered with an error"),
	ROW(PVF_UNSUPPORTED, "not offered by the backend or this host"),
	ROW(PVF_TIMEOUT, "a deadline passed"),
	ROW(PVF_CLOSED, "the device is closed, or was closed before this was done"),
	ROW(PVF_BROKEN, "the backend broke the protocol"),
	ROW(PVF_RESET, "the backend went away; the request may or may not have happened"),
	ROW(PVF_PAGE_HELD, "the backend still holds a page"),
	ROW(PVF_READ_ONLY, "the device is read-only"),
	ROW(PVF_BUSY, "somebody else has it"),
	ROW(PVF_GARBAGE, "a value cannot be parsed"),
	ROW(PVF_STALE, "a buffer of an earlier life of the pool"),
	ROW(PVF_STORE_CONFLICT, "xenstore: the transaction met another one and must be done again"),
	ROW(PVF_STORE_NOT_FOUND, "xenstore: no such node"),
	ROW(PVF_STORE_DENIED, "xenstore: no permission for this node"),
	ROW(PVF_STORE_PERMISSION, "xenstore: this domain may not do that"),
	ROW(PVF_STORE_EXISTS, "xenstore: it exists already"),
	ROW(PVF_STORE_INVALID, "xenstore: the path or an argument is invalid"),
	ROW(PVF_STORE_DIRECTORY, "xenstore: it is a directory"),
	ROW(PVF_STORE_NOT_EMPTY, "xenstore: the node has children"),
	ROW(PVF_STORE_NO_MEMORY, "xenstore: the store has no memory left"),
	ROW(PVF_STORE_QUOTA, "xenstore: a quota of this domain is used up"),
	ROW(PVF_STORE_IO, "xenstore: the store met an I/O error"),
	ROW(PVF_STORE_UNKNOWN_OP, "xenstore: the store does not know this operation"),
	ROW(PVF_STORE_READ_ONLY, "xenstore: the store is read-only"),
	ROW(PVF_STORE_BUSY, "xenstore: busy"),
	ROW(PVF_STORE_CONNECTED, "xenstore: connected already"),
	ROW(PVF_STORE_TOO_BIG, "xenstore: too big for the protocol or for the buffer"),
	ROW(PVF_STORE_OTHER, "xenstore: an error this version does not know"),
	ROW(PVF_STORE_PROTOCOL, "xenstore: an answer that is not the protocol's"),
};

#undef ROW

static const struct status_row *status_find(int status)
{
	size_t i;

	for (i = 0; i < sizeof(status_rows) / sizeof(status_rows[0]); i++) {
		if (status_rows[i].status == status)
			return &status_rows[i];
	}
	return NULL;
}

const char *pvf_status_name(int status)
{
	const struct status_row *row = status_find(status);

	return row ? row->name : "PVF_?";
}

const char *pvf_status_text(int status)
{
	const struct status_row *row = status_find(status);

	return row ? row->text : "not a status";
}
