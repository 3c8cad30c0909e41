/* SPDX-License-Identifier: MIT */
/* Store values and paths as text, for the toolstack and the reference backend. */
#ifndef PVFRONT_SIM_VBD_TEXT_H
#define PVFRONT_SIM_VBD_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* A NUL-terminated text under construction. What does not fit is not added, and `cut` says so. */
struct vbd_text {
	char *memory;
	uint32_t room; /* bytes at memory, the NUL among them */
	uint32_t length;
	bool cut;
};

void vbd_text_start(struct vbd_text *text, char *memory, uint32_t room);
void vbd_text_add(struct vbd_text *text, const char *string);
void vbd_text_number(struct vbd_text *text, uint64_t number);

uint32_t vbd_text_length(const char *string);
/* True when the first `length` bytes of `bytes` are `string` and nothing else. */
bool vbd_text_is(const char *bytes, uint32_t length, const char *string);
/* Strict: one to ten decimal digits and nothing else, up to 32 bits. */
bool vbd_text_parse(const char *bytes, uint32_t length, uint32_t *number);

#endif
