/* SPDX-License-Identifier: MIT */
/*
 * Status codes. Every public function that can fail returns PVF_OK (0), a positive count, or one of these.
 */
#ifndef PVFRONT_STATUS_H
#define PVFRONT_STATUS_H

enum pvf_status {
	PVF_OK = 0,
	PVF_AGAIN = -1,       /* not now: ring, pool or gate is full or shut; try again after the next event */
	PVF_INVALID = -2,     /* an argument is wrong */
	PVF_RANGE = -3,       /* beyond the end of the device, or a number outside its limits */
	PVF_ALIGN = -4,       /* not a multiple of the sector size */
	PVF_NO_MEMORY = -5,   /* the host has no memory left */
	PVF_NO_SPACE = -6,    /* the host has no grants or event channels left */
	PVF_IO = -7,          /* the backend answered with an error */
	PVF_UNSUPPORTED = -8, /* the backend or this host does not offer it */
	PVF_TIMEOUT = -9,     /* a deadline passed */
	PVF_CLOSED = -10,     /* the device is closed or was closed under the request */
	PVF_BROKEN = -11,     /* the backend broke the protocol; close or reconnect the device */
	PVF_RESET = -12,      /* the backend went away: the request may or may not have happened */
	PVF_PAGE_HELD = -13,  /* the backend still holds a page: it must not be reused */
	PVF_READ_ONLY = -14,  /* a write to a device that is read-only */
	PVF_BUSY = -15,       /* somebody else has it */
	PVF_GARBAGE = -16,    /* a value that cannot be parsed */
	PVF_STALE = -17,      /* a buffer of an earlier life of the pool */

	/* What xenstored says, one status for each of its error strings (Xen: io/xs_wire.h, xsd_errors). */
	PVF_STORE_CONFLICT = -32,   /* EAGAIN: the transaction must be done again, from its reads onwards */
	PVF_STORE_NOT_FOUND = -33,  /* ENOENT */
	PVF_STORE_DENIED = -34,     /* EACCES */
	PVF_STORE_PERMISSION = -35, /* EPERM */
	PVF_STORE_EXISTS = -36,     /* EEXIST */
	PVF_STORE_INVALID = -37,    /* EINVAL */
	PVF_STORE_DIRECTORY = -38,  /* EISDIR */
	PVF_STORE_NOT_EMPTY = -39,  /* ENOTEMPTY */
	PVF_STORE_NO_MEMORY = -40,  /* ENOMEM */
	PVF_STORE_QUOTA = -41,      /* ENOSPC or EQUOTA: a quota of this domain is used up */
	PVF_STORE_IO = -42,         /* EIO */
	PVF_STORE_UNKNOWN_OP = -43, /* ENOSYS */
	PVF_STORE_READ_ONLY = -44,  /* EROFS */
	PVF_STORE_BUSY = -45,       /* EBUSY */
	PVF_STORE_CONNECTED = -46,  /* EISCONN */
	PVF_STORE_TOO_BIG = -47,    /* E2BIG, or an answer larger than the caller's buffer */
	PVF_STORE_OTHER = -48,      /* an error string this version does not know */
	PVF_STORE_PROTOCOL = -49,   /* an answer that is not the protocol's */
};

/* The name of a status, as "PVF_TIMEOUT"; "PVF_?" for a number that is none. Callable anywhere. */
const char *pvf_status_name(int status);

/* The same as a short clause for people, as "a deadline passed". Callable anywhere. */
const char *pvf_status_text(int status);

#endif
