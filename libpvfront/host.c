/* SPDX-License-Identifier: MIT */
/* What the core adds to a host: events, parking, and a batched store for hosts with one call at a time. */
#include <pvfront/compiler.h>
#include <pvfront/grant.h>
#include <pvfront/host.h>
#include <pvfront/status.h>

#if defined(PVF_COMPILER_TSAN)
volatile uint32_t pvf_tsan_barrier;
#endif

void pvf_event(struct pvf_event *event)
{
	for (struct pvf_event *waiter = event->waiters; waiter; waiter = waiter->next)
		(void)pvf_add32(&waiter->sequence, 1u);
	(void)pvf_add32(&event->sequence, 1u);
}

uint32_t pvf_event_sequence(const struct pvf_event *event)
{
	return pvf_load32_acquire(&event->sequence);
}

int pvf_host_check(const struct pvf_host *host)
{
	const struct pvf_host_ops *ops = host ? host->ops : NULL;

	if (!ops || ops->size < sizeof(*ops) || !host->parking)
		return PVF_INVALID;
	if (!ops->alloc || !ops->free || !ops->share || !ops->unshare || !ops->forget)
		return PVF_INVALID;
	if (!ops->evtchn_alloc || !ops->evtchn_close || !ops->evtchn_notify)
		return PVF_INVALID;
	if (!ops->store || !ops->watch || !ops->unwatch || !ops->now)
		return PVF_INVALID;
	return PVF_OK;
}

/* ---- parking: lock-free, devices of one host may be closed by several threads ---- */

void pvf_park(const struct pvf_host *host, struct pvf_region *region)
{
	struct pvf_region *head;

	(void)pvf_add32(&host->parking->pages, region->pages);
	do {
		head = host->parking->head;
		region->next = head;
	} while (!pvf_cas_pointer((void *volatile *)&host->parking->head, head, region));
}

uint32_t pvf_host_unpark(const struct pvf_host *host)
{
	struct pvf_region *list = pvf_exchange_pointer((void *volatile *)&host->parking->head, NULL);

	while (list) {
		struct pvf_region *region = list;

		list = region->next;
		(void)pvf_add32(&host->parking->pages, 0u - region->pages);
		(void)pvf_region_end(host, region);
	}
	return pvf_load32(&host->parking->pages);
}

void pvf_host_resumed(const struct pvf_host *host)
{
	for (struct pvf_region *region = host->parking->head; region; region = region->next)
		region->flags |= PVF_REGION_FORGOTTEN;
	(void)pvf_host_unpark(host);
}

/* ---- the store, one call at a time ---- */

static int one_call(const struct pvf_store_calls *calls, void *ctx, uint32_t tx, struct pvf_store_op *op)
{
	int status;

	switch (op->verb) {
	case PVF_STORE_READ:
		return calls->read(ctx, tx, op->path, op->value, op->capacity, &op->length);
	case PVF_STORE_LIST:
		return calls->list(ctx, tx, op->path, op->value, op->capacity, &op->length);
	case PVF_STORE_WRITE:
		return calls->write(ctx, tx, op->path, op->value, op->length);
	case PVF_STORE_REMOVE:
		status = calls->remove(ctx, tx, op->path);
		return status == PVF_STORE_NOT_FOUND ? PVF_OK : status;
	default:
		return PVF_INVALID;
	}
}

int pvf_store_each(const struct pvf_store_calls *calls, void *ctx, struct pvf_store_op *ops, uint32_t n, uint32_t flags)
{
	bool transaction = (flags & PVF_STORE_TRANSACTION) != 0;
	uint32_t tx = 0;
	int first = PVF_OK;

	for (uint32_t i = 0; i < n; i++)
		ops[i].status = PVF_CLOSED;
	if (transaction) {
		int status = calls->transaction_start(ctx, &tx);

		if (status != PVF_OK)
			return status;
	}
	for (uint32_t i = 0; i < n && (first == PVF_OK || !transaction); i++) {
		bool changes = ops[i].verb == PVF_STORE_WRITE || ops[i].verb == PVF_STORE_REMOVE;

		ops[i].status = one_call(calls, ctx, tx, &ops[i]);
		if ((changes || ops[i].status == PVF_INVALID) && ops[i].status != PVF_OK && first == PVF_OK)
			first = ops[i].status;
	}
	if (transaction) {
		int status = calls->transaction_end(ctx, tx, first == PVF_OK);

		if (first == PVF_OK)
			first = status;
	}
	return first;
}
