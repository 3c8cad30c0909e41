/* SPDX-License-Identifier: MIT */
/*
 * A vbd backend of one's own in the simulated Xen, and a frontend that reads from it. The backend has no disk: each eight
 * bytes hold the number of that word. All it uses is <pvfront/sim_backend.h> and the host table of its domain.
 *
 *	cc own-backend.c $(pkg-config --cflags --libs pvfront-sim pvfront) -o own-backend
 *	./own-backend
 */
#include <pvfront/compiler.h>
#include <pvfront/pvfront.h>
#include <pvfront/sim_backend.h>
#include <pvfront/sim_posix.h>
#include <pvfront/wire/blkif.h>
#include <pvfront/wire/ring.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the backend ---- */

#define SECTORS 16384 /* of 512 bytes */
#define RING_ENTRIES 32u
#define SECOND UINT64_C(1000000000)

struct counting {
	struct pvf_sim_backend *backend;
	int state;                  /* ours, as in the store */
	char watched[256];          /* empty: not yet */
	uint32_t seen;              /* the event's sequence when we last looked at the store */
	struct pvf_wire_ring *ring; /* NULL: not connected */
	uint32_t handle, port;
	uint32_t req_cons, rsp_prod;
};

/* Reads or writes one key; the length of what was read, or -1. */
static int key(struct counting *c, uint32_t verb, const char *directory, const char *name, char *value, size_t room)
{
	const struct pvf_host *host = c->backend->host;
	char path[256];
	struct pvf_store_op op = {.verb = verb, .path = path, .value = value};

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	op.capacity = (uint32_t)room - (verb == PVF_STORE_READ);
	op.length = verb == PVF_STORE_WRITE ? (uint32_t)strlen(value) : 0;
	if (host->ops->store(host->ctx, &op, 1, 0, host->ops->now(host->ctx) + SECOND) < 0 || op.status < 0)
		return -1;
	if (verb == PVF_STORE_READ)
		value[op.length < op.capacity ? op.length : op.capacity] = '\0';
	return (int)op.length;
}

static void say(struct counting *c, const char *name, int number)
{
	char digits[16];

	snprintf(digits, sizeof(digits), "%d", number);
	key(c, PVF_STORE_WRITE, c->backend->path, name, digits, sizeof(digits));
}

static int frontend_says(struct counting *c, const char *name)
{
	char value[32];

	return key(c, PVF_STORE_READ, c->backend->frontend_path, name, value, sizeof(value)) < 0 ? -1 : atoi(value);
}

static void set_state(struct counting *c, int state)
{
	c->state = state;
	say(c, "state", state);
}

static void connect(struct counting *c)
{
	struct pvf_sim_backend *backend = c->backend;
	uint32_t ref = (uint32_t)frontend_says(c, "ring-ref"), port = (uint32_t)frontend_says(c, "event-channel");
	void *page;

	if (pvf_sim_map(backend->domain, backend->frontend_domid, ref, false, &page, &c->handle) < 0)
		return;
	if (pvf_sim_bind(backend->domain, backend->frontend_domid, port, &backend->event, &c->port) < 0) {
		pvf_sim_unmap(backend->domain, c->handle);
		return;
	}
	c->ring = page;
	c->req_cons = c->rsp_prod = c->ring->rsp_prod;
	say(c, "sectors", SECTORS);
	say(c, "sector-size", 512);
	say(c, "info", PVF_WIRE_BLKIF_INFO_READONLY);
	set_state(c, PVF_STATE_CONNECTED);
}

static void disconnect(struct counting *c)
{
	const struct pvf_host *host = c->backend->host;

	if (!c->ring)
		return;
	host->ops->evtchn_close(host->ctx, c->port);
	pvf_sim_unmap(c->backend->domain, c->handle);
	c->ring = NULL;
}

static void follow_frontend(struct counting *c)
{
	switch (frontend_says(c, "state")) {
	case PVF_STATE_INITIALISING:
		if (c->state != PVF_STATE_INIT_WAIT && c->state != PVF_STATE_CONNECTED)
			set_state(c, PVF_STATE_INIT_WAIT);
		break;
	case PVF_STATE_INITIALISED:
	case PVF_STATE_CONNECTED:
		if (c->state == PVF_STATE_INIT_WAIT)
			connect(c);
		break;
	case PVF_STATE_CLOSING:
		if (c->state == PVF_STATE_CONNECTED)
			set_state(c, PVF_STATE_CLOSING);
		break;
	case PVF_STATE_CLOSED:
		disconnect(c);
		if (c->state != PVF_STATE_CLOSED)
			set_state(c, PVF_STATE_CLOSED);
		break;
	}
}

static int16_t serve_read(struct counting *c, const struct pvf_wire_blkif_request *request)
{
	uint64_t word = request->sector_number * (512 / 8);

	if (request->operation != PVF_WIRE_BLKIF_OP_READ)
		return PVF_WIRE_BLKIF_EOPNOTSUPP;
	if (request->nr_segments > PVF_WIRE_BLKIF_MAX_DIRECT)
		return PVF_WIRE_BLKIF_ERROR;
	for (int i = 0; i < request->nr_segments; i++) {
		const struct pvf_wire_blkif_segment *seg = &request->seg[i];
		uint32_t words = (uint32_t)(seg->last_sect - seg->first_sect + 1) * (512 / 8);
		uint64_t data[4096 / 8];

		if (seg->first_sect > seg->last_sect || seg->last_sect > 7 || word + words > SECTORS * (512 / 8))
			return PVF_WIRE_BLKIF_ERROR;
		for (uint32_t n = 0; n < words; n++)
			data[n] = word++;
		if (pvf_sim_copy_to(c->backend->domain, c->backend->frontend_domid, seg->gref, seg->first_sect * 512u,
				    data, words * 8) < 0)
			return PVF_WIRE_BLKIF_ERROR;
	}
	return PVF_WIRE_BLKIF_OKAY;
}

/* The next request, copied once out of shared memory; its response in its place. */
static bool serve(struct counting *c)
{
	const struct pvf_host *host = c->backend->host;
	union pvf_wire_blkif_entry *entries = (void *)((char *)c->ring + PVF_WIRE_RING_HEADER), entry;
	struct pvf_wire_blkif_response response = {0};
	uint32_t old = c->rsp_prod;

	if (pvf_load32_acquire(&c->ring->req_prod) == c->req_cons) {
		pvf_store32(&c->ring->req_event, c->req_cons + 1);
		pvf_mb();
		return pvf_load32_acquire(&c->ring->req_prod) != c->req_cons;
	}
	memcpy(&entry, &entries[c->req_cons++ % RING_ENTRIES], sizeof(entry));
	pvf_barrier();
	response.id = entry.request.id;
	response.operation = entry.request.operation;
	response.status = serve_read(c, &entry.request);
	entries[c->rsp_prod++ % RING_ENTRIES].response = response;
	pvf_store32_release(&c->ring->rsp_prod, c->rsp_prod);
	pvf_mb();
	if (c->rsp_prod - pvf_load32(&c->ring->rsp_event) < c->rsp_prod - old)
		host->ops->evtchn_notify(host->ctx, c->port);
	return true;
}

static int counting_create(struct pvf_sim_backend *backend, void *config, void **state)
{
	struct counting *c = calloc(1, sizeof(*c));

	(void)config;
	if (!c)
		return PVF_NO_MEMORY;
	c->backend = backend;
	*state = c;
	return PVF_OK;
}

static bool counting_work(void *state)
{
	struct counting *c = state;
	const struct pvf_host *host = c->backend->host;
	uint32_t sequence = pvf_event_sequence(&c->backend->event);

	if (c->ring && serve(c))
		return true;
	if (!c->watched[0]) {
		snprintf(c->watched, sizeof(c->watched), "%s/state", c->backend->frontend_path);
		host->ops->watch(host->ctx, c->watched, &c->backend->event, host->ops->now(host->ctx) + SECOND);
		return true;
	}
	if (sequence == c->seen)
		return false;
	c->seen = sequence;
	follow_frontend(c);
	return true;
}

static void counting_destroy(void *state, bool killed)
{
	struct counting *c = state;
	const struct pvf_host *host = c->backend->host;

	(void)killed;
	disconnect(c);
	if (c->watched[0])
		host->ops->unwatch(host->ctx, c->watched, &c->backend->event, host->ops->now(host->ctx) + SECOND);
	free(c);
}

static const struct pvf_sim_backend_ops counting_ops = {
	.size = sizeof(counting_ops),
	.name = "counting",
	.create = counting_create,
	.work = counting_work,
	.destroy = counting_destroy,
};

/* ---- the frontend ---- */

static int check(struct pvf_vbd *vbd)
{
	static uint64_t words[32768 / 8];
	struct pvf_vbd_queue *queue = pvf_vbd_queue(vbd, 0);
	uint64_t sector;

	for (sector = 0; sector < SECTORS; sector += sizeof(words) / 512) {
		struct pvf_seg seg = PVF_SEG_OF(words, sizeof(words));
		struct pvf_vbd_io io = {.op = PVF_VBD_READ, .sector = sector, .segs = &seg, .nr_segs = 1};
		struct pvf_vbd_done done;

		if (pvf_vbd_submit(queue, &io, 1) != 1)
			return 1;
		pvf_vbd_push(queue);
		if (pvf_vbd_wait(queue, &done, 1, PVF_FOREVER) != 1 || done.status != PVF_OK)
			return 1;
		for (size_t i = 0; i < sizeof(words) / 8; i++)
			if (words[i] != sector * (512 / 8) + i) {
				fprintf(stderr, "own-backend: word %zu of sector %llu is wrong\n", i,
					(unsigned long long)sector);
				return 1;
			}
	}
	printf("own-backend: %llu sectors read from a backend of our own, every word as counted\n",
	       (unsigned long long)sector);
	return 0;
}

int main(void)
{
	struct pvf_sim_options machine = {.size = sizeof(machine), .platform = pvf_sim_posix_platform()};
	struct pvf_sim_vbd_options device = {.size = sizeof(device), .frontend_domid = 1, .backend = &counting_ops};
	struct pvf_vbd_options options = PVF_VBD_OPTIONS;
	struct pvf_sim_domain *guest;
	struct pvf_sim_vbd *attached;
	struct pvf_sim *sim;
	struct pvf_vbd *vbd;
	int failed;

	if (pvf_sim_create(&machine, &sim) < 0 || pvf_sim_domain_create(sim, 1, &guest) < 0 ||
	    pvf_sim_vbd_attach(sim, &device, &attached) < 0 ||
	    pvf_vbd_open(pvf_sim_domain_host(guest), pvf_sim_vbd_path(attached), &options, &vbd) < 0) {
		fprintf(stderr, "own-backend: the simulated machine cannot be made\n");
		return 1;
	}
	failed = pvf_vbd_connect(vbd) < 0;
	if (failed)
		fprintf(stderr, "own-backend: %s\n", pvf_vbd_error(vbd));
	else
		failed = check(vbd);
	pvf_vbd_close(vbd);
	pvf_sim_vbd_detach(attached);
	pvf_sim_destroy(sim);
	return failed;
}
