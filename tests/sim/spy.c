/* SPDX-License-Identifier: MIT */
#include "spy.h"

#include <pvfront/compiler.h>
#include <pvfront/wire/xenbus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES 32u
#define CALL_NS 5000000000u

uint8_t *spy_slot(const struct spy *spy, uint32_t index)
{
	return (uint8_t *)spy->ring + PVF_WIRE_RING_HEADER + (size_t)(index % ENTRIES) * SPY_ENTRY;
}

int spy_copy(struct spy *spy, uint32_t ref, uint32_t offset, void *data, uint32_t bytes, bool to_page)
{
	const struct pvf_sim_backend *backend = spy->backend;

	if (to_page)
		return pvf_sim_copy_to(backend->domain, backend->frontend_domid, ref, offset, data, bytes);
	return pvf_sim_copy_from(backend->domain, backend->frontend_domid, ref, offset, data, bytes);
}

/* ---- the store ---- */

static uint64_t soon(const struct spy *spy)
{
	return spy->backend->host->ops->now(spy->backend->host->ctx) + CALL_NS;
}

static void write_key(struct spy *spy, const char *name, uint64_t number)
{
	const struct pvf_host *host = spy->backend->host;
	char path[256], value[24];
	struct pvf_store_op op = {.verb = PVF_STORE_WRITE, .path = path, .value = value};

	snprintf(path, sizeof(path), "%s/%s", spy->backend->path, name);
	op.length = (uint32_t)snprintf(value, sizeof(value), "%llu", (unsigned long long)number);
	(void)host->ops->store(host->ctx, &op, 1, 0, soon(spy));
}

static uint32_t read_key(struct spy *spy, const char *name)
{
	const struct pvf_host *host = spy->backend->host;
	char path[256], value[24] = {0};
	struct pvf_store_op op = {.verb = PVF_STORE_READ, .path = path, .value = value, .capacity = sizeof(value) - 1};

	snprintf(path, sizeof(path), "%s/%s", spy->backend->frontend_path, name);
	(void)host->ops->store(host->ctx, &op, 1, 0, soon(spy));
	return op.status == PVF_OK ? (uint32_t)strtoul(value, NULL, 10) : 0;
}

static void set_state(struct spy *spy, uint32_t state)
{
	spy->state = state;
	write_key(spy, "state", state);
}

/* ---- handshake ---- */

static void let_go(struct spy *spy)
{
	const struct pvf_host *host = spy->backend->host;

	if (!spy->ring)
		return;
	host->ops->evtchn_close(host->ctx, spy->port);
	(void)pvf_sim_unmap(spy->backend->domain, spy->handle);
	spy->ring = NULL;
}

static void connect(struct spy *spy)
{
	const struct pvf_sim_backend *backend = spy->backend;
	void *page = NULL;

	if (spy->ring)
		return;
	if (pvf_sim_map(backend->domain, backend->frontend_domid, read_key(spy, "ring-ref"), false, &page,
			&spy->handle) != PVF_OK)
		return;
	spy->ring = page;
	if (spy->config->mapped)
		spy->config->mapped(spy, page, spy->config->arg);
	spy->rsp_prod = pvf_load32_acquire(&spy->ring->rsp_prod);
	spy->req_cons = spy->rsp_prod;
	if (pvf_sim_bind(backend->domain, backend->frontend_domid, read_key(spy, "event-channel"), &spy->event,
			 &spy->port) != PVF_OK) {
		(void)pvf_sim_unmap(backend->domain, spy->handle);
		spy->ring = NULL;
		return;
	}
	write_key(spy, "sectors", spy->config->disk->bytes / 512u);
	write_key(spy, "sector-size", 512);
	write_key(spy, "feature-flush-cache", 1);
	set_state(spy, PVF_STATE_CONNECTED);
}

static void control(struct spy *spy)
{
	switch (read_key(spy, "state")) {
	case PVF_STATE_INITIALISING:
		if (spy->state == PVF_STATE_INITIALISING || spy->state == PVF_STATE_CLOSED)
			set_state(spy, PVF_STATE_INIT_WAIT);
		break;
	case PVF_STATE_INITIALISED:
	case PVF_STATE_CONNECTED:
		connect(spy);
		break;
	case PVF_STATE_CLOSING:
		if (spy->state != PVF_STATE_CLOSING)
			set_state(spy, PVF_STATE_CLOSING);
		break;
	case PVF_STATE_CLOSED:
		let_go(spy);
		if (spy->state != PVF_STATE_CLOSED)
			set_state(spy, PVF_STATE_CLOSED);
		break;
	default:
		break;
	}
}

/* ---- the ring ---- */

static int16_t transfer(struct spy *spy, const struct pvf_wire_blkif_request *request)
{
	const struct pvf_sim_disk *disk = spy->config->disk;
	bool write = request->operation == PVF_WIRE_BLKIF_OP_WRITE;
	uint64_t at = request->sector_number * 512u;
	uint8_t data[4096];

	for (uint32_t i = 0; i < request->nr_segments; i++) {
		const struct pvf_wire_blkif_segment *seg = &request->seg[i];
		uint32_t offset = seg->first_sect * 512u,
			 bytes = (uint32_t)(seg->last_sect - seg->first_sect + 1) * 512u;
		int status = write ? spy_copy(spy, seg->gref, offset, data, bytes, false)
				   : disk->read(disk->ctx, at, data, bytes);

		if (status == PVF_OK)
			status = write ? disk->write(disk->ctx, at, data, bytes)
				       : spy_copy(spy, seg->gref, offset, data, bytes, true);
		if (status != PVF_OK)
			return PVF_WIRE_BLKIF_ERROR;
		at += bytes;
	}
	return PVF_WIRE_BLKIF_OKAY;
}

static void answer(struct spy *spy, const struct pvf_wire_blkif_request *request, int16_t status)
{
	volatile uint64_t *slot = (volatile uint64_t *)(void *)spy_slot(spy, spy->rsp_prod);
	const struct pvf_host *host = spy->backend->host;
	uint32_t before = spy->rsp_prod++, event;

	pvf_store64(&slot[0], request->id);
	pvf_store64(&slot[1], request->operation | (uint64_t)(uint16_t)status << 16);
	pvf_store32_release(&spy->ring->rsp_prod, spy->rsp_prod);
	pvf_mb();
	event = pvf_load32(&spy->ring->rsp_event);
	if ((uint32_t)(spy->rsp_prod - event) < (uint32_t)(spy->rsp_prod - before) && !spy->config->never_notifies)
		host->ops->evtchn_notify(host->ctx, spy->port);
}

/* Copies an entry out by words, as it lies there. */
static void take(struct spy *spy, uint8_t entry[SPY_ENTRY])
{
	const volatile uint64_t *slot = (const volatile uint64_t *)(void *)spy_slot(spy, spy->req_cons++);

	for (uint32_t i = 0; i < SPY_ENTRY / 8u; i++) {
		uint64_t word = pvf_load64(&slot[i]);

		memcpy(entry + i * 8u, &word, 8);
	}
}

static bool serve(struct spy *spy)
{
	struct spy_config *config = spy->config;
	struct pvf_wire_blkif_request request;
	uint8_t entry[SPY_ENTRY];

	if (pvf_load32_acquire(&spy->ring->req_prod) == spy->req_cons) {
		if (config->asks_never)
			return true;
		pvf_store32(&spy->ring->req_event, spy->req_cons + 1u);
		pvf_mb();
		return pvf_load32_acquire(&spy->ring->req_prod) != spy->req_cons;
	}
	take(spy, entry);
	memcpy(config->log[config->requests % SPY_LOG], entry, SPY_ENTRY);
	config->requests++;
	config->events = pvf_event_sequence(&spy->event) - 1u;
	memcpy(&request, entry, sizeof(request));
	if (!config->request || config->request(spy, entry, config->arg))
		answer(spy, &request,
		       request.operation == PVF_WIRE_BLKIF_OP_FLUSH ? PVF_WIRE_BLKIF_OKAY : transfer(spy, &request));
	return true;
}

static bool work(void *state)
{
	struct spy *spy = state;
	const struct pvf_host *host = spy->backend->host;
	bool busy = false;

	if (!spy->watching) {
		spy->watching = true;
		(void)host->ops->watch(host->ctx, spy->watched, &spy->backend->event, soon(spy));
	}
	if (spy->ring && spy->config->idle)
		busy = spy->config->idle(spy, spy->config->arg);
	if (spy->ring && serve(spy))
		busy = true;
	if (!spy->looked || spy->seen != pvf_event_sequence(&spy->backend->event)) {
		spy->looked = true;
		spy->seen = pvf_event_sequence(&spy->backend->event);
		control(spy);
		return true;
	}
	return busy;
}

static int create(struct pvf_sim_backend *backend, void *config, void **state)
{
	struct spy *spy = calloc(1, sizeof(*spy));

	if (!spy)
		return PVF_NO_MEMORY;
	spy->backend = backend;
	spy->config = config;
	spy->config->spy = spy;
	spy->state = PVF_STATE_INITIALISING;
	spy->event.owner = backend->event.owner;
	snprintf(spy->watched, sizeof(spy->watched), "%s/state", backend->frontend_path);
	*state = spy;
	return PVF_OK;
}

static void destroy(void *state, bool killed)
{
	struct spy *spy = state;
	const struct pvf_host *host = spy->backend->host;

	if (spy->watching)
		host->ops->unwatch(host->ctx, spy->watched, &spy->backend->event, soon(spy));
	let_go(spy);
	if (!killed)
		set_state(spy, PVF_STATE_CLOSED);
	spy->config->spy = NULL;
	free(spy);
}

const struct pvf_sim_backend_ops spy_ops = {
	.size = sizeof(struct pvf_sim_backend_ops),
	.name = "spy",
	.create = create,
	.work = work,
	.destroy = destroy,
};
