/* SPDX-License-Identifier: MIT */
/* The handshake step by step: to stderr at once, or kept for the JSON report. */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include <pvfront/xenbus.h>

#define TRACE_MAX_STEPS 4096u

struct json;
struct trace_step;

struct trace {
	bool keep;        /* for the report, instead of stderr */
	uint64_t started; /* nanoseconds */
	struct trace_step *steps;
	uint32_t nr_steps;
	uint32_t dropped; /* steps beyond the most that are kept */
};

/* A pvf_trace_fn; ctx is a struct trace. */
void trace_step(void *ctx, const struct pvf_trace *step);
void trace_json(const struct trace *trace, struct json *json);
void trace_free(struct trace *trace);

#endif
