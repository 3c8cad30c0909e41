/* SPDX-License-Identifier: MIT */
/*
 * A domain's line to xenstored: the shared page, its event channel, and the core's wire client on it. One caller at a
 * time; whoever lets go looks once more, because whoever found the line taken has gone to sleep.
 */
#include "machine.h"

/* ---- what the wire client needs ---- */

static void transport_notify(void *ctx)
{
	struct pvf_sim_domain *domain = ctx;

	hv_port_notify(&domain->sim->hv, domain->hv, domain->store_port);
}

static uint32_t transport_sequence(void *ctx)
{
	const struct pvf_sim_domain *domain = ctx;

	return pvf_event_sequence(&domain->store_event);
}

static uint64_t transport_now(void *ctx)
{
	const struct pvf_sim_domain *domain = ctx;

	return sim_now(domain->sim);
}

static int transport_wait(void *ctx, uint32_t sequence, uint64_t deadline)
{
	struct pvf_sim_domain *domain = ctx;
	struct pvf_sim *sim = domain->sim;

	if (sim->stepped)
		return sim_wait_stepped(domain, &domain->store_event, sequence, deadline, false);

	/* A signal does not end a conversation with the store: its deadline does. */
	for (;;) {
		uint32_t heard = sim_bell_listen(&domain->bell);

		if (transport_sequence(ctx) != sequence)
			return PVF_OK;
		if (sim_bell_sleep(&sim->os, &domain->bell, heard, deadline) == PVF_TIMEOUT)
			return transport_sequence(ctx) != sequence ? PVF_OK : PVF_TIMEOUT;
	}
}

/* ---- the lock ---- */

/* Stepped: nobody could let go while we wait, and the schedule keeps a domain's actors out while its line is taken. */
static int take_line(struct pvf_sim_domain *domain, uint64_t deadline)
{
	if (!sim_domain_alive(domain))
		return PVF_CLOSED;
	if (domain->sim->stepped)
		return sim_trylock(&domain->store_lock) ? PVF_OK : PVF_BUSY;
	return sim_lock_until(&domain->sim->os, &domain->store_lock, deadline) ? PVF_OK : PVF_TIMEOUT;
}

/* Takes what has arrived, with the line held; `before`: the watch events counted when it was taken. */
static void drain_and_release(struct pvf_sim_domain *domain, uint64_t before)
{
	uint32_t sequence = pvf_event_sequence(&domain->store_event);
	bool fired;

	pvf_xs_poll(&domain->xs);
	fired = domain->xs.statistics.watch_events != before;
	pvf_store32(&domain->store_served, sequence);
	sim_unlock(&domain->sim->os, &domain->store_lock);

	/* A watch event may be for anybody in the domain. */
	if (fired)
		sim_domain_wake(domain);
}

bool sim_client_serve(struct pvf_sim_domain *domain)
{
	bool served = false;

	while (pvf_event_sequence(&domain->store_event) != pvf_load32(&domain->store_served)) {
		if (!sim_trylock(&domain->store_lock))
			return served;
		drain_and_release(domain, domain->xs.statistics.watch_events);
		served = true;
	}
	return served;
}

static void release_line(struct pvf_sim_domain *domain, uint64_t before)
{
	drain_and_release(domain, before);
	(void)sim_client_serve(domain);
}

/* ---- the store group of the host table ---- */

static int fail_batch(struct pvf_store_op *ops, uint32_t n, int status)
{
	for (uint32_t i = 0; i < n; i++)
		ops[i].status = i == 0 ? status : PVF_CLOSED;
	return status;
}

static int client_store(void *ctx, struct pvf_store_op *ops, uint32_t n, uint32_t flags, uint64_t deadline)
{
	struct pvf_sim_domain *domain = ctx;
	uint64_t before;
	int status;

	if (sim_fault_call(domain))
		return fail_batch(ops, n, PVF_STORE_NO_MEMORY);
	status = take_line(domain, deadline);
	if (status != PVF_OK)
		return fail_batch(ops, n, status);
	before = domain->xs.statistics.watch_events;
	status = pvf_xs_store(&domain->xs, ops, n, flags, deadline);
	release_line(domain, before);
	return status;
}

static int client_watch(void *ctx, const char *path, struct pvf_event *event, uint64_t deadline)
{
	struct pvf_sim_domain *domain = ctx;
	uint64_t before;
	int status;

	if (sim_fault_call(domain))
		return PVF_STORE_NO_MEMORY;
	status = take_line(domain, deadline);
	if (status != PVF_OK)
		return status;
	before = domain->xs.statistics.watch_events;
	status = pvf_xs_watch(&domain->xs, path, event, deadline);
	release_line(domain, before);
	return status;
}

static void client_unwatch(void *ctx, const char *path, struct pvf_event *event, uint64_t deadline)
{
	struct pvf_sim_domain *domain = ctx;
	uint64_t before;

	/* The event is the caller's to free afterwards, so the line is waited for, however long. */
	if (take_line(domain, PVF_FOREVER) != PVF_OK)
		return;
	before = domain->xs.statistics.watch_events;
	(void)pvf_xs_unwatch(&domain->xs, path, event, deadline);
	release_line(domain, before);
}

static void client_poll(void *ctx)
{
	(void)sim_client_serve(ctx);
}

void sim_client_host(struct pvf_host_ops *ops)
{
	ops->store = client_store;
	ops->watch = client_watch;
	ops->unwatch = client_unwatch;
	ops->store_poll = client_poll;
}

/* ---- its life ---- */

static void set_indices(struct pvf_wire_xs_interface *page, uint32_t start)
{
	page->req_cons = start;
	page->req_prod = start;
	page->rsp_cons = start;
	page->rsp_prod = start;
}

static struct pvf_wire_xs_interface *store_page(const struct pvf_sim_domain *domain)
{
	return (struct pvf_wire_xs_interface *)(void *)(domain->memory + (size_t)domain->store_frame * PVF_PAGE_SIZE);
}

/* Grants the page, makes the port, and tells xenstored. */
static int connect_line(struct pvf_sim_domain *domain)
{
	struct pvf_sim *sim = domain->sim;
	int status;

	set_indices(store_page(domain), sim->store_ring_start);
	hv_grant_make(domain->hv, SIM_STORE_REF, SIM_STORE_DOMID, domain->store_frame, false);
	status = hv_port_alloc(&sim->hv, domain->hv, SIM_STORE_DOMID, &domain->store_event, &domain->store_port);
	return status == PVF_OK ? xsd_introduce(sim, domain) : status;
}

int sim_client_open(struct pvf_sim_domain *domain)
{
	struct pvf_xs_transport transport = {
		.notify = transport_notify,
		.wait = transport_wait,
		.sequence = transport_sequence,
		.now = transport_now,
		.ctx = domain,
	};
	int status;

	domain->store_frame = sim_pages_take(domain, 1);
	if (domain->store_frame == SIM_NO_FRAME)
		return PVF_NO_MEMORY;
	status = pvf_xs_init(&domain->xs, store_page(domain), &transport);
	return status == PVF_OK ? connect_line(domain) : status;
}

void sim_client_resume(struct pvf_sim_domain *domain)
{
	if (connect_line(domain) != PVF_OK)
		sim_log(domain->sim, PVF_LOG_ERROR, "a resumed domain has no line to xenstored: no port or memory");
	pvf_xs_resumed(&domain->xs, store_page(domain));
}
