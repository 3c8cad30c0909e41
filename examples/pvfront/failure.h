/* SPDX-License-Identifier: MIT */
/* Why a run failed: one sentence and one exit code. The first failure is the one that is told. */
#ifndef FAILURE_H
#define FAILURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <pvfront/status.h>

enum exit_code {
	CODE_OK = 0,
	CODE_IO =
		1, /* an I/O or data error: the backend refused a request, the data differ, a file cannot be written */
	CODE_USAGE = 2,   /* bad input; nothing was read or written */
	CODE_CONNECT = 3, /* the handshake failed or timed out */
	CODE_REFUSED = 4, /* refused for safety: wants --write or --scratch */
	CODE_BROKEN = 5,  /* the device broke, the backend died or fell silent, or something was left behind */
};

struct failure {
	enum exit_code code;
	int status;        /* enum pvf_status, PVF_OK when none was involved */
	bool about_device; /* the sentence is about the vbd, whose name goes before it */
	bool has_sector;
	uint64_t sector;
	char text[2048];
};

/* Returns false, so that a caller can say: return fail(...). `length` is what snprintf made of the sentence. */
bool failure_set(struct failure *failure, enum exit_code code, int length);

/* A macro, so that the compiler checks the format. */
#define fail(failure, code_, ...) \
	failure_set((failure), (code_), \
		    (failure)->code != CODE_OK ? 0 : snprintf((failure)->text, sizeof((failure)->text), __VA_ARGS__))

/* The same about the device, with the status that led to it. */
bool failure_about_device(struct failure *failure, int status);

#define fail_device(failure, code_, status_, ...) \
	((failure)->code != CODE_OK ? false \
				    : (fail(failure, code_, __VA_ARGS__), failure_about_device((failure), (status_))))

/* "io", "usage", …: the code's name in the JSON report. */
const char *failure_kind(enum exit_code code);

#endif
