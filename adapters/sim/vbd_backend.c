/* SPDX-License-Identifier: MIT */
/*
 * The reference backend's handshake. Its order is the one in which Linux blkback can be observed to act (PEERS, "backend
 * order differences"): at InitWait only the limits are there; the disk's properties appear, in one transaction, when the
 * frontend has published its ring; Connected comes last. Closing is answered with Closing, and the ring is let go of when
 * the frontend is Closed. A frontend that is Initialising again finds a Closed backend back at InitWait.
 */
#include "vbd_back.h"
#include "bytes.h"
#include "vbd_text.h"

#define WATCH_DEADLINE_NS 5000000000u
/* Passes of a busy ring between two looks at the store. */
#define RING_PASSES 16u
#define NO_STATE PVF_STATES
/* How long a fault holds a step back: long enough to be seen by the frontend. */
#define LATER_NS 20000000u

void vbd_back_show_counters(struct vbd_back *back)
{
	back->counters.events = pvf_event_sequence(&back->ring_event) - back->own_events;
	vbd_snapshot_publish(&back->shown, &back->counters, sizeof(back->counters));
}

_Static_assert(sizeof(struct pvf_sim_vbd_counters) <= 4 * VBD_SNAPSHOT_WORDS, "the counters fit the snapshot");

void vbd_back_warn(struct vbd_back *back, const char *text)
{
	if (back->host->ops->log)
		back->host->ops->log(back->host->ctx, PVF_LOG_WARNING, text);
}

void vbd_back_set_state(struct vbd_back *back, uint32_t state)
{
	back->state = state;
	vbd_keys_start(back);
	vbd_keys_write_number(back, "state", state);
	(void)vbd_keys_run(back, 0);
}

static bool absent(const struct vbd_back *back, uint32_t key)
{
	return back->keys[key].status == PVF_STORE_NOT_FOUND;
}

/* NO_STATE: garbage, or the store does not answer. */
static uint32_t frontend_state(struct vbd_back *back)
{
	uint32_t state;

	vbd_keys_start(back);
	vbd_keys_read(back, back->backend->frontend_path, "state");
	if (vbd_keys_run(back, 0) != PVF_OK)
		return NO_STATE;
	if (absent(back, 0))
		return PVF_STATE_UNKNOWN;
	return vbd_keys_number(back, 0, &state) && state < PVF_STATES ? state : NO_STATE;
}

/* ---- letting go ---- */

void vbd_back_disconnect(struct vbd_back *back)
{
	vbd_ring_detach(back);
	if (!vbd_fault_keeps_grants(back))
		vbd_grants_drop(back);
	vbd_back_show_counters(back);
}

static void end(struct vbd_back *back)
{
	const struct pvf_host *host = back->host;
	uint64_t deadline = host->ops->now(host->ctx) + WATCH_DEADLINE_NS;

	back->ended = true;
	vbd_back_disconnect(back);
	if (back->watching)
		for (uint32_t i = 0; i < 2; i++)
			host->ops->unwatch(host->ctx, back->watched[i], &back->backend->event, deadline);
	back->watching = false;
}

/* ---- what faults do to a connected backend ---- */

void vbd_back_die(struct vbd_back *back)
{
	end(back);
}

void vbd_back_vanish(struct vbd_back *back)
{
	vbd_keys_start(back);
	vbd_keys_remove(back, back->backend->path);
	(void)vbd_keys_run(back, 0);
	end(back);
}

void vbd_back_jump_closed(struct vbd_back *back)
{
	vbd_back_disconnect(back);
	back->left_state = frontend_state(back);
	vbd_back_set_state(back, PVF_STATE_CLOSED);
}

void vbd_back_later(struct vbd_back *back, void (*step)(struct vbd_back *back))
{
	back->later = step;
	back->due = back->host->ops->now(back->host->ctx) + LATER_NS;
}

void vbd_back_fall_back(struct vbd_back *back)
{
	vbd_back_disconnect(back);
	back->left_state = frontend_state(back);
	vbd_back_set_state(back, PVF_STATE_INITIALISING);
}

/* ---- the way up ---- */

void vbd_back_announce(struct vbd_back *back)
{
	back->state = PVF_STATE_INIT_WAIT;
	vbd_keys_start(back);
	vbd_keys_write_number(back, "max-ring-page-order", 0);
	vbd_keys_write_number(back, "multi-queue-max-queues", 1);
	vbd_keys_write_number(back, "state", PVF_STATE_INIT_WAIT);
	(void)vbd_keys_run(back, 0);
}

void vbd_back_publish(struct vbd_back *back)
{
	const struct pvf_sim_vbd_options *options = back->backend->options;
	bool read_only = back->disk->read_only;

	vbd_keys_start(back);
	vbd_keys_write_number(back, "feature-flush-cache", 1);
	if (options->backend_persistent)
		vbd_keys_write_number(back, "feature-persistent", 1);
	vbd_keys_write_number(back, "sectors", vbd_fault_sectors(back, back->sectors));
	vbd_keys_write_number(back, "info", read_only ? PVF_WIRE_BLKIF_INFO_READONLY : 0);
	vbd_keys_write_number(back, "sector-size", options->sector_size);
	vbd_keys_write_number(back, "physical-sector-size", options->physical_sector_size);
	(void)vbd_keys_run(back, PVF_STORE_TRANSACTION);
}

/* Says why in the place where Xen's drivers do (error/<device>/error of the own domain), and asks to close. */
static void fatal(struct vbd_back *back, const char *text)
{
	const char *device = back->backend->path;
	char path[VBD_PATH];
	struct vbd_text line;

	/* "/local/domain/0/" goes. */
	for (uint32_t slashes = 0; *device && slashes < 4; device++)
		slashes += *device == '/';
	vbd_text_start(&line, path, sizeof(path));
	vbd_text_add(&line, "error/");
	vbd_text_add(&line, device);
	vbd_text_add(&line, "/error");
	vbd_back_warn(back, text);
	vbd_keys_start(back);
	vbd_keys_write_at(back, path, text);
	(void)vbd_keys_run(back, 0);
	vbd_back_set_state(back, PVF_STATE_CLOSING);
}

/* What the frontend publishes, in the order in which it is read. */
enum { KEY_ORDER, KEY_QUEUES, KEY_PROTOCOL, KEY_PERSISTENT, KEY_EVENT_CHANNEL, KEY_RING, KEY_RING_0, NR_KEYS };
static const char *const frontend_keys[NR_KEYS] = {
	[KEY_ORDER] = "ring-page-order",
	[KEY_QUEUES] = "multi-queue-num-queues",
	[KEY_PROTOCOL] = "protocol",
	[KEY_PERSISTENT] = "feature-persistent",
	[KEY_EVENT_CHANNEL] = "event-channel",
	[KEY_RING] = "ring-ref",
	[KEY_RING_0] = "ring-ref0",
};

struct offer {
	uint32_t ref, port;
	bool persistent;
};

/* NULL, or what is wrong with the frontend's keys. */
static const char *read_offer(struct vbd_back *back, struct offer *offer)
{
	uint32_t order = 0, queues = 1, persistent = 0;

	vbd_keys_start(back);
	for (uint32_t i = 0; i < NR_KEYS; i++)
		vbd_keys_read(back, back->backend->frontend_path, frontend_keys[i]);
	if (vbd_keys_run(back, 0) != PVF_OK)
		return "vbd backend: the frontend's keys cannot be read";
	if (!absent(back, KEY_ORDER) && (!vbd_keys_number(back, KEY_ORDER, &order) || order))
		return "vbd backend: ring-page-order is more than max-ring-page-order = 0";
	if (!absent(back, KEY_QUEUES) && (!vbd_keys_number(back, KEY_QUEUES, &queues) || queues != 1))
		return "vbd backend: multi-queue-num-queues is not 1";
	if (!absent(back, KEY_PROTOCOL) &&
	    !vbd_text_is(back->values[KEY_PROTOCOL], back->keys[KEY_PROTOCOL].length, PVF_WIRE_BLKIF_PROTOCOL))
		return "vbd backend: protocol is not " PVF_WIRE_BLKIF_PROTOCOL;
	/* As soon as ring-page-order is there, the reference has a number (PROTOCOL: order 0). */
	if (!vbd_keys_number(back, absent(back, KEY_ORDER) ? KEY_RING : KEY_RING_0, &offer->ref))
		return "vbd backend: ring-ref is missing or no number";
	if (!vbd_keys_number(back, KEY_EVENT_CHANNEL, &offer->port))
		return "vbd backend: event-channel is missing or no number";
	offer->persistent = vbd_keys_number(back, KEY_PERSISTENT, &persistent) && persistent == 1;
	return NULL;
}

static void connect(struct vbd_back *back)
{
	struct offer offer = {0};
	const char *wrong;

	if (back->state != PVF_STATE_INIT_WAIT && back->state != PVF_STATE_CLOSED)
		return;
	if (!vbd_fault_step(back, VBD_STEP_CONNECT))
		return;
	wrong = read_offer(back, &offer);
	if (!wrong && vbd_grants_start(back, offer.persistent && back->backend->options->backend_persistent) < 0)
		wrong = "vbd backend: no memory for the table of grants";
	if (!wrong && vbd_ring_attach(back, offer.ref, offer.port) < 0)
		wrong = "vbd backend: the ring cannot be mapped, its indices are impossible, or the port is not for us";
	if (wrong) {
		fatal(back, wrong);
		return;
	}
	if (vbd_fault_step(back, VBD_STEP_PUBLISH))
		vbd_back_publish(back);
	vbd_back_set_state(back, PVF_STATE_CONNECTED);
}

/* ---- following the frontend ---- */

static void reopen(struct vbd_back *back)
{
	if (back->state == PVF_STATE_CLOSED && vbd_fault_step(back, VBD_STEP_ANNOUNCE))
		vbd_back_announce(back);
}

static void follow_closing(struct vbd_back *back)
{
	if (back->state != PVF_STATE_CLOSING && back->state != PVF_STATE_CLOSED && vbd_fault_step(back, VBD_STEP_CLOSE))
		vbd_back_set_state(back, PVF_STATE_CLOSING);
}

static bool online(struct vbd_back *back)
{
	uint32_t number = 0;

	vbd_keys_start(back);
	vbd_keys_read(back, back->backend->path, "online");
	return vbd_keys_run(back, 0) == PVF_OK && vbd_keys_number(back, 0, &number) && number == 1;
}

static void follow_closed(struct vbd_back *back)
{
	if (back->state != PVF_STATE_CLOSED) {
		if (!vbd_fault_step(back, VBD_STEP_CLOSE))
			return;
		vbd_back_disconnect(back);
		vbd_back_set_state(back, PVF_STATE_CLOSED);
	}
	if (!online(back))
		end(back);
}

static void (*const follow[PVF_STATES])(struct vbd_back *back) = {
	[PVF_STATE_UNKNOWN] = end, /* the frontend's directory is gone */
	[PVF_STATE_INITIALISING] = reopen,  [PVF_STATE_INITIALISED] = connect,
	[PVF_STATE_CONNECTED] = connect,    [PVF_STATE_CLOSING] = follow_closing,
	[PVF_STATE_CLOSED] = follow_closed,
};

static void follow_frontend(struct vbd_back *back)
{
	uint32_t state = frontend_state(back);

	if (state == NO_STATE)
		return;
	/*
	 * A frontend that an earlier backend left connected learns of the restart from our state and publishes anew; its
	 * old ring is not served, or a request could be carried out while the frontend already lets go of its page.
	 */
	if (state == back->left_state)
		return;
	back->left_state = NO_STATE;
	if (follow[state])
		follow[state](back);
}

static bool watch(struct vbd_back *back)
{
	const struct pvf_host *host = back->host;
	uint64_t deadline = host->ops->now(host->ctx) + WATCH_DEADLINE_NS;

	back->watching = true;
	for (uint32_t i = 0; i < 2; i++)
		if (host->ops->watch(host->ctx, back->watched[i], &back->backend->event, deadline) < 0) {
			vbd_back_warn(back, "vbd backend: the store refused a watch");
			end(back);
			return false;
		}
	return true;
}

static bool control(struct vbd_back *back)
{
	const struct pvf_host *host = back->host;
	uint32_t sequence;

	if (!back->watching && !watch(back))
		return false;
	if (host->ops->store_poll)
		host->ops->store_poll(host->ctx);
	if (back->later) {
		void (*later)(struct vbd_back *) = back->later;

		/* Nobody wakes us at a time: the thread is kept busy until then. Only faults do this. */
		if (host->ops->now(host->ctx) < back->due)
			return true;
		back->later = NULL;
		back->look = true;
		later(back);
		return true;
	}
	sequence = pvf_event_sequence(&back->backend->event);
	if (sequence == back->seen && !back->look)
		return false;
	back->seen = sequence;
	back->look = false;
	if (back->state == PVF_STATE_INITIALISING && vbd_fault_step(back, VBD_STEP_ANNOUNCE))
		vbd_back_announce(back);
	if (back->state != PVF_STATE_INITIALISING && !back->later)
		follow_frontend(back);
	return true;
}

static bool work(void *state)
{
	struct vbd_back *back = state;
	bool busy;

	vbd_fault_refresh(back);
	if (back->ended)
		return false;
	busy = vbd_ring_work(back);
	if (busy && ++back->skipped < RING_PASSES)
		return true;
	back->skipped = 0;
	if (!back->ended)
		busy |= control(back);
	return busy;
}

/* ---- beginning and end ---- */

static void path_of(char *path, const char *directory, const char *name)
{
	struct vbd_text text;

	vbd_text_start(&text, path, VBD_PATH);
	vbd_text_add(&text, directory);
	vbd_text_add(&text, "/");
	vbd_text_add(&text, name);
}

static int create(struct pvf_sim_backend *backend, void *config, void **state)
{
	const struct pvf_sim_vbd_options *options = backend->options;
	const struct vbd_control *shared = config;
	struct vbd_back *back;

	if (!options->disk)
		return PVF_INVALID;
	back = backend->host->ops->alloc(backend->host->ctx, sizeof(*back));
	if (!back)
		return PVF_NO_MEMORY;
	back->backend = backend;
	back->control = shared;
	back->host = backend->host;
	back->disk = options->disk;
	back->sectors = options->disk->bytes >> PVF_WIRE_BLKIF_SECTOR_SHIFT;
	back->sector_mask = options->sector_size / PVF_WIRE_BLKIF_SECTOR - 1;
	back->state = PVF_STATE_INITIALISING;
	back->left_state = shared->restarted ? PVF_STATE_CONNECTED : NO_STATE;
	back->look = true;
	back->fault.kind = VBD_NO_FAULT;
	back->fault.generation = pvf_load32(&shared->generation) - 1;
	back->ring_event.owner = backend->event.owner;
	path_of(back->watched[0], backend->frontend_path, "state");
	path_of(back->watched[1], backend->path, "online");
	vbd_back_show_counters(back);
	*state = back;
	return PVF_OK;
}

static void destroy(void *state, bool killed)
{
	struct vbd_back *back = state;
	const struct pvf_host *host = back->host;

	if (!back->ended) {
		end(back);
		if (!killed)
			vbd_back_set_state(back, PVF_STATE_CLOSED);
	}
	/* Also what a fault kept: a process that has ended maps nothing. */
	vbd_grants_drop(back);
	if (back->grants.kept)
		host->ops->free(host->ctx, back->grants.kept, VBD_KEPT * sizeof(struct vbd_mapping));
	host->ops->free(host->ctx, back, sizeof(*back));
}

static void counters(void *state, struct pvf_sim_vbd_counters *counters)
{
	struct vbd_back *back = state;

	vbd_snapshot_read(&back->shown, counters, sizeof(*counters));
}

const struct pvf_sim_backend_ops vbd_reference_ops = {
	.size = sizeof(struct pvf_sim_backend_ops),
	.name = "vbd",
	.create = create,
	.work = work,
	.destroy = destroy,
	.counters = counters,
};
