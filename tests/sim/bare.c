/* SPDX-License-Identifier: MIT */
#include "bare.h"

#include "check.h"

#include <pvfront/compiler.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOT 112u
#define CALL_NS (5000 * BARE_MS)

uint64_t bare_now(const struct bare *bare)
{
	return bare->host->ops->now(bare->host->ctx);
}

/* ---- fixtures ---- */

static int setup(void **state, bool stepped)
{
	struct bare *bare = calloc(1, sizeof(*bare));
	struct pvf_sim_options options = {
		.size = sizeof(options),
		.stepped = stepped,
		.seed = 7,
		.platform = pvf_sim_posix_platform(),
	};
	uint8_t sector[512];

	assert_non_null(bare);
	bare->stepped = stepped;
	assert_int_equal(pvf_sim_create(&options, &bare->sim), PVF_OK);
	assert_int_equal(pvf_sim_domain_create(bare->sim, 1, &bare->guest), PVF_OK);
	bare->dom0 = pvf_sim_domain_find(bare->sim, 0);
	bare->host = pvf_sim_domain_host(bare->guest);
	assert_int_equal(pvf_sim_posix_ramdisk(BARE_SECTORS * 512u, &bare->disk), PVF_OK);
	for (uint32_t i = 0; i < BARE_SECTORS; i++) {
		for (uint32_t byte = 0; byte < sizeof(sector); byte++)
			sector[byte] = (uint8_t)(i * 7 + (i >> 8) + byte);
		assert_int_equal(bare->disk.write(bare->disk.ctx, i * 512u, sector, sizeof(sector)), PVF_OK);
	}
	bare->nodes_before = pvf_sim_store_count(bare->sim);
	*state = bare;
	return 0;
}

int bare_threaded(void **state)
{
	return setup(state, false);
}

int bare_stepped(void **state)
{
	return setup(state, true);
}

static void nothing_held(struct pvf_sim_domain *domain)
{
	struct pvf_sim_held held;

	pvf_sim_held(domain, &held);
	assert_int_equal(held.grants, 0);
	assert_int_equal(held.grants_mapped, 0);
	assert_int_equal(held.maps, 0);
	assert_int_equal(held.ports, 0);
	assert_int_equal(held.watches, 0);
	assert_int_equal(held.transactions, 0);
	assert_int_equal(held.pages, 0);
	assert_int_equal(held.memory, 0);
}

int bare_teardown(void **state)
{
	struct bare *bare = *state;

	if (bare->vbd)
		pvf_sim_vbd_detach(bare->vbd);
	assert_int_equal(bare_release(bare), PVF_UNSHARE_RELEASED);
	if (bare->state_path[0])
		bare->host->ops->unwatch(bare->host->ctx, bare->state_path, &bare->watched, bare_now(bare) + CALL_NS);
	nothing_held(bare->guest);
	nothing_held(bare->dom0);
	assert_int_equal(pvf_sim_store_count(bare->sim), bare->nodes_before);
	pvf_sim_destroy(bare->sim);
	bare->disk.close(bare->disk.ctx);
	free(bare);
	return 0;
}

void bare_attach(struct bare *bare, struct pvf_sim_vbd_options options)
{
	options.size = sizeof(options);
	options.frontend_domid = 1;
	options.backend_domid = 0;
	options.disk = &bare->disk;
	assert_int_equal(pvf_sim_vbd_attach(bare->sim, &options, &bare->vbd), PVF_OK);
	snprintf(bare->state_path, sizeof(bare->state_path), "%s/state", pvf_sim_vbd_backend_path(bare->vbd));
	assert_int_equal(
		bare->host->ops->watch(bare->host->ctx, bare->state_path, &bare->watched, bare_now(bare) + CALL_NS),
		PVF_OK);
}

/* ---- the store ---- */

static int store(struct bare *bare, uint32_t verb, const char *path, void *value, uint32_t capacity, uint32_t *length)
{
	struct pvf_store_op op = {.verb = verb, .path = path, .value = value, .capacity = capacity, .length = *length};

	(void)bare->host->ops->store(bare->host->ctx, &op, 1, 0, bare_now(bare) + CALL_NS);
	*length = op.length;
	return op.status;
}

const char *bare_key(struct bare *bare, const char *name)
{
	static char value[256];
	char path[160];
	uint32_t length = 0;

	snprintf(path, sizeof(path), "%s/%s", pvf_sim_vbd_backend_path(bare->vbd), name);
	if (store(bare, PVF_STORE_READ, path, value, sizeof(value) - 1, &length) != PVF_OK)
		return NULL;
	value[length] = '\0';
	return value;
}

static void own_path(struct bare *bare, const char *name, char *path, size_t bytes)
{
	snprintf(path, bytes, "%s/%s", pvf_sim_vbd_path(bare->vbd), name);
}

void bare_write(struct bare *bare, const char *name, const char *value)
{
	uint32_t length = (uint32_t)strlen(value);
	char path[160], copy[256];

	own_path(bare, name, path, sizeof(path));
	memcpy(copy, value, length);
	assert_int_equal(store(bare, PVF_STORE_WRITE, path, copy, 0, &length), PVF_OK);
}

void bare_remove(struct bare *bare, const char *name)
{
	uint32_t length = 0;
	char path[160];

	own_path(bare, name, path, sizeof(path));
	assert_int_equal(store(bare, PVF_STORE_REMOVE, path, NULL, 0, &length), PVF_OK);
}

static void write_number(struct bare *bare, const char *name, uint32_t number)
{
	char digits[16];

	snprintf(digits, sizeof(digits), "%u", number);
	bare_write(bare, name, digits);
}

void bare_state(struct bare *bare, uint32_t state)
{
	write_number(bare, "state", state);
}

bool bare_backend_reaches(struct bare *bare, uint32_t state, uint32_t ms)
{
	uint64_t deadline = bare_now(bare) + ms * BARE_MS;

	for (;;) {
		uint32_t sequence = pvf_event_sequence(&bare->watched);
		const char *text = bare_key(bare, "state");

		if (text && strtoul(text, NULL, 10) == state)
			return true;
		if (bare_now(bare) >= deadline)
			return false;
		(void)bare->host->ops->wait(bare->host->ctx, &bare->watched, sequence, deadline);
	}
}

/* ---- up and down ---- */

void bare_publish(struct bare *bare, bool persistent, uint32_t start)
{
	const struct pvf_host *host = bare->host;

	bare->ring_region = (struct pvf_region){.refs = &bare->ring_ref, .pages = 1};
	bare->data_region = (struct pvf_region){.refs = bare->data_refs, .pages = BARE_PAGES};
	assert_int_equal(host->ops->share(host->ctx, &bare->ring_region), PVF_OK);
	assert_int_equal(host->ops->share(host->ctx, &bare->data_region), PVF_OK);
	assert_int_equal(host->ops->evtchn_alloc(host->ctx, 0, &bare->event, &bare->port), PVF_OK);
	bare->ring = bare->ring_region.base;
	bare->ring->req_prod = bare->ring->rsp_prod = start;
	bare->ring->req_event = bare->ring->rsp_event = start + 1;
	bare->req_prod = bare->rsp_cons = start;
	write_number(bare, "ring-ref", bare->ring_ref);
	write_number(bare, "event-channel", bare->port);
	bare_write(bare, "protocol", PVF_WIRE_BLKIF_PROTOCOL);
	write_number(bare, "feature-persistent", persistent);
}

void bare_connect(struct bare *bare, bool persistent, uint32_t start)
{
	assert_true(bare_backend_reaches(bare, PVF_STATE_INIT_WAIT, 5000));
	bare_publish(bare, persistent, start);
	bare_state(bare, PVF_STATE_INITIALISED);
	assert_true(bare_backend_reaches(bare, PVF_STATE_CONNECTED, 5000));
	bare_state(bare, PVF_STATE_CONNECTED);
}

int bare_release(struct bare *bare)
{
	const struct pvf_host *host = bare->host;
	int worst = PVF_UNSHARE_RELEASED, answer;

	if (!bare->ring)
		return worst;
	if (bare->port)
		host->ops->evtchn_close(host->ctx, bare->port);
	bare->port = 0;
	for (uint32_t i = 0; i < 2; i++) {
		struct pvf_region *region = i ? &bare->ring_region : &bare->data_region;

		answer = region->base ? host->ops->unshare(host->ctx, region) : PVF_UNSHARE_RELEASED;
		worst = answer > worst ? answer : worst;
	}
	if (worst == PVF_UNSHARE_RELEASED)
		bare->ring = NULL;
	return worst;
}

void bare_close(struct bare *bare)
{
	bare_state(bare, PVF_STATE_CLOSING);
	assert_true(bare_backend_reaches(bare, PVF_STATE_CLOSING, 5000));
	bare_state(bare, PVF_STATE_CLOSED);
	assert_true(bare_backend_reaches(bare, PVF_STATE_CLOSED, 5000));
	assert_int_equal(bare_release(bare), PVF_UNSHARE_RELEASED);
}

/* ---- the ring ---- */

uint8_t *bare_page(struct bare *bare, uint32_t page)
{
	return (uint8_t *)bare->data_region.base + page * PVF_PAGE_SIZE;
}

struct pvf_wire_blkif_request bare_request(struct bare *bare, uint32_t op, uint64_t sector, uint32_t page,
					   uint32_t pages)
{
	struct pvf_wire_blkif_request request = {
		.operation = (uint8_t)op,
		.nr_segments = (uint8_t)pages,
		.id = bare->next_id % 32 | 0x5a0000 * (bare->next_id / 32),
		.sector_number = sector,
	};

	bare->next_id++;
	for (uint32_t i = 0; i < pages && i < PVF_WIRE_BLKIF_MAX_DIRECT; i++)
		request.seg[i] = (struct pvf_wire_blkif_segment){.gref = bare->data_refs[page + i], .last_sect = 7};
	return request;
}

static uint8_t *slot(struct bare *bare, uint32_t index)
{
	return (uint8_t *)bare->ring + PVF_WIRE_RING_HEADER + (index & 31u) * SLOT;
}

void bare_put(struct bare *bare, const struct pvf_wire_blkif_request *request)
{
	memcpy(slot(bare, bare->req_prod++), request, SLOT);
}

bool bare_push(struct bare *bare)
{
	uint32_t old = pvf_load32(&bare->ring->req_prod);
	bool asked;

	pvf_store32_release(&bare->ring->req_prod, bare->req_prod);
	pvf_mb();
	asked = bare->req_prod - pvf_load32(&bare->ring->req_event) < bare->req_prod - old;
	if (asked)
		bare->host->ops->evtchn_notify(bare->host->ctx, bare->port);
	return asked;
}

bool bare_take(struct bare *bare, struct pvf_wire_blkif_response *response, uint32_t ms)
{
	uint64_t deadline = bare_now(bare) + ms * BARE_MS;

	for (;;) {
		uint32_t sequence = pvf_event_sequence(&bare->event);

		if (pvf_load32_acquire(&bare->ring->rsp_prod) != bare->rsp_cons)
			break;
		pvf_store32(&bare->ring->rsp_event, bare->rsp_cons + 1);
		pvf_mb();
		if (pvf_load32_acquire(&bare->ring->rsp_prod) != bare->rsp_cons)
			break;
		if (bare_now(bare) >= deadline)
			return false;
		(void)bare->host->ops->wait(bare->host->ctx, &bare->event, sequence, deadline);
	}
	memcpy(response, slot(bare, bare->rsp_cons++), sizeof(*response));
	return true;
}

int bare_do(struct bare *bare, const struct pvf_wire_blkif_request *request)
{
	struct pvf_wire_blkif_response response;

	bare_put(bare, request);
	(void)bare_push(bare);
	assert_true(bare_take(bare, &response, 5000));
	assert_int_equal(response.id, request->id);
	assert_int_equal(response.operation, request->operation);
	assert_int_equal(response.pad0, 0);
	assert_int_equal(response.pad1, 0);
	return response.status;
}

struct pvf_sim_vbd_counters bare_counters(struct bare *bare)
{
	struct pvf_sim_vbd_counters counters;

	pvf_sim_vbd_counters(bare->vbd, &counters);
	return counters;
}

void bare_rest(struct bare *bare)
{
	struct pvf_event never = {0};
	uint64_t deadline = bare_now(bare) + 20 * BARE_MS;

	while (bare->stepped && pvf_sim_step(bare->sim))
		continue;
	if (!bare->stepped)
		while (bare_now(bare) < deadline)
			(void)bare->host->ops->wait(bare->host->ctx, &never, 0, deadline);
}

void bare_moment(struct bare *bare)
{
	struct pvf_event never = {0};

	(void)bare->host->ops->wait(bare->host->ctx, &never, 0, bare_now(bare) + BARE_MS);
}
