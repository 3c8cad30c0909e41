/* SPDX-License-Identifier: MIT */
#include "interruptible.h"

#include <pvfront/status.h>

#include "interrupt.h"

/* A signal that comes to another thread, or just before the sleep, is noticed after this time. */
#define SLICE_NS 50000000u

static struct pvf_host wrapped;
static struct pvf_host_ops wrapped_ops;
static const struct pvf_host_ops *original;
static bool signals_count;

static int wait_in_slices(void *ctx, struct pvf_event *event, uint32_t sequence, uint64_t deadline)
{
	for (;;) {
		uint64_t slice = original->now(ctx) + SLICE_NS;
		int status;

		if (signals_count && interrupt_signal() != 0)
			return PVF_AGAIN;
		status = original->wait(ctx, event, sequence, slice < deadline ? slice : deadline);
		if (status == PVF_OK || (status == PVF_TIMEOUT && original->now(ctx) >= deadline))
			return status;
		if (status != PVF_TIMEOUT && status != PVF_AGAIN)
			return status;
	}
}

const struct pvf_host *interruptible_host(const struct pvf_host *host)
{
	original = host->ops;
	wrapped_ops = *host->ops;
	wrapped_ops.wait = wait_in_slices;
	wrapped = *host;
	wrapped.ops = &wrapped_ops;
	return &wrapped;
}

void interruptible(bool yes)
{
	signals_count = yes;
}
