/* SPDX-License-Identifier: MIT */
/* Decimal numbers and sentences without a C library. */
#ifndef PVFRONT_TEXT_H
#define PVFRONT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* A NUL-terminated text under construction; what does not fit is cut, and `cut` says so. */
struct pvf_text {
	char *at;
	uint32_t used;
	uint32_t room;
	bool cut;
};

void pvf_text_start(struct pvf_text *text, char *memory, uint32_t bytes);
void pvf_text_add(struct pvf_text *text, const char *string);
/* Bytes from the peer: what is not printable ASCII becomes '?'. At most 64 of them. */
void pvf_text_peer(struct pvf_text *text, const void *bytes, uint32_t length);
/* A path; of a long one the end, for it must not push the reason out of the sentence. */
void pvf_text_path(struct pvf_text *text, const char *path);
void pvf_text_number(struct pvf_text *text, uint64_t number);

uint32_t pvf_text_length(const char *string);

/*
 * Strict: one to twenty decimal digits and nothing else, but for one NUL at the end that some writers count in. False for
 * anything else, and for a number beyond 64 bits.
 */
bool pvf_text_parse(const void *bytes, uint32_t length, uint64_t *number);

#endif
