/* SPDX-License-Identifier: MIT */
/*
 * What the reference backend does wrong when told to. A fault is one row: where it acts, whether once (the Nth time that
 * place is passed) or from then on, and the function that does it. The functions below with the names of vbd_back.h are
 * the only places where the rest of the backend meets a fault.
 */
#include "vbd_back.h"
#include "vbd_text.h"

#include <pvfront/compiler.h>

enum fault {
	FAULT_CORRUPT,
	FAULT_SIZE,
	FAULT_DIE,
	FAULT_STALL,
	FAULT_SILENT_INIT,
	FAULT_SILENT_INITWAIT,
	FAULT_SILENT_CLOSE,
	FAULT_ERROR,
	FAULT_UNSUPPORTED,
	FAULT_BAD_ID,
	FAULT_FREE_ID,
	FAULT_STALE_ID,
	FAULT_REPEAT,
	FAULT_BAD_OP,
	FAULT_BAD_STATUS,
	FAULT_OVERRUN,
	FAULT_BACKWARDS,
	FAULT_CLOSED,
	FAULT_RESTART,
	FAULT_VANISH,
	FAULT_SKIP,
	FAULT_EARLY,
	FAULT_LATE_KEYS,
	FAULT_KEEP_GRANTS,
	FAULT_DOUBLE_NOTIFY,
	FAULT_NO_NOTIFY,
	FAULT_SHUFFLE,
	FAULTS,
};

const struct pvf_sim_fault_name pvf_sim_fault_names[FAULTS + 1] = {
	[FAULT_CORRUPT] = {"corrupt", "flips a bit in what the Nth read of the disk delivers"},
	[FAULT_SIZE] = {"size", "announces a disk N MiB larger than it is"},
	[FAULT_DIE] = {"die", "dies without a word at the Nth request"},
	[FAULT_STALL] = {"stall", "answers nothing from the Nth request on"},
	[FAULT_SILENT_INIT] = {"silent-init", "never leaves Initialising"},
	[FAULT_SILENT_INITWAIT] = {"silent-initwait", "never leaves InitWait, whatever the frontend publishes"},
	[FAULT_SILENT_CLOSE] = {"silent-close", "never follows the frontend when it closes, and keeps its ring"},
	[FAULT_ERROR] = {"error", "answers the Nth request with ERROR, not carried out"},
	[FAULT_UNSUPPORTED] = {"unsupported", "answers the Nth request with EOPNOTSUPP, not carried out"},
	[FAULT_BAD_ID] = {"bad-id", "answers the Nth request under an id that was never given"},
	[FAULT_FREE_ID] = {"free-id", "answers the Nth request under an id whose index is not in use"},
	[FAULT_STALE_ID] = {"stale-id",
			    "answers the Nth request, or the first possible after it, under an id of an earlier one"},
	[FAULT_REPEAT] = {"repeat", "answers the Nth request twice"},
	[FAULT_BAD_OP] = {"bad-op", "answers the Nth request as another operation"},
	[FAULT_BAD_STATUS] = {"bad-status", "answers the Nth request with a status that is none"},
	[FAULT_OVERRUN] = {"overrun", "publishes the Nth batch of responses with a producer index far ahead"},
	[FAULT_BACKWARDS] = {"backwards", "publishes the Nth batch of responses with a producer index that goes back"},
	[FAULT_CLOSED] = {"closed", "jumps to Closed, without Closing, at the Nth request"},
	[FAULT_RESTART] = {"restart", "falls back to Initialising at the Nth request, then starts again"},
	[FAULT_VANISH] = {"vanish", "removes its directory at the Nth request, and ends"},
	[FAULT_SKIP] = {"skip", "says Initialised before InitWait"},
	[FAULT_EARLY] = {"early", "answers before the frontend's push has returned"},
	[FAULT_LATE_KEYS] = {"late-keys", "writes the disk's properties some time after Connected"},
	[FAULT_KEEP_GRANTS] = {"keep-grants", "never unmaps a page, also when it closes"},
	[FAULT_DOUBLE_NOTIFY] = {"double-notify", "sends each notification twice, from the Nth on"},
	[FAULT_NO_NOTIFY] = {"no-notify", "loses its notifications, from the Nth on"},
	[FAULT_SHUFFLE] = {"shuffle", "answers each batch of requests out of order; N is the seed"},
	{NULL, NULL},
};

/* Request ids carry the slot in their low bits, as those of any frontend that indexes a table; one page has 32 slots. */
#define ID_INDEX 31u

struct row {
	bool on; /* from the Nth time on; else the Nth time only, or the first after it when it can be done */
	enum vbd_verdict (*request)(struct vbd_back *back, int16_t *status);
	bool (*response)(struct vbd_back *back, struct pvf_wire_blkif_response *response);
	uint32_t copies; /* with `response`: how often it is put on the ring */
	uint32_t (*producer)(struct vbd_back *back, uint32_t producer);
	bool has_step;
	enum vbd_step step;
	void (*instead)(struct vbd_back *back); /* of the step; NULL: nothing happens */
	bool notifies;
	uint32_t notifications; /* for each one */
};

/* ---- requests ---- */

static enum vbd_verdict die(struct vbd_back *back, int16_t *status)
{
	(void)status;
	vbd_back_die(back);
	return VBD_GONE;
}

static enum vbd_verdict stall(struct vbd_back *back, int16_t *status)
{
	(void)back;
	(void)status;
	return VBD_SWALLOW;
}

static enum vbd_verdict answer_error(struct vbd_back *back, int16_t *status)
{
	(void)back;
	*status = PVF_WIRE_BLKIF_ERROR;
	return VBD_FAIL;
}

static enum vbd_verdict answer_unsupported(struct vbd_back *back, int16_t *status)
{
	(void)back;
	*status = PVF_WIRE_BLKIF_EOPNOTSUPP;
	return VBD_FAIL;
}

static enum vbd_verdict jump_closed(struct vbd_back *back, int16_t *status)
{
	(void)status;
	vbd_back_jump_closed(back);
	return VBD_GONE;
}

static enum vbd_verdict restart(struct vbd_back *back, int16_t *status)
{
	(void)status;
	vbd_back_fall_back(back);
	vbd_back_later(back, vbd_back_announce);
	return VBD_GONE;
}

static enum vbd_verdict vanish(struct vbd_back *back, int16_t *status)
{
	(void)status;
	vbd_back_vanish(back);
	return VBD_GONE;
}

/* ---- responses; false: not possible for this one ---- */

static bool bad_id(struct vbd_back *back, struct pvf_wire_blkif_response *response)
{
	(void)back;
	response->id = 0xdeadbeefdeadbeefu;
	return true;
}

static bool free_id(struct vbd_back *back, struct pvf_wire_blkif_response *response)
{
	const struct vbd_ring *ring = &back->ring;
	uint32_t producer = pvf_load32_acquire(&ring->shared->req_prod);
	uint32_t used = 1u << (response->id & ID_INDEX);

	for (uint32_t i = 0; i < ring->nr_answers; i++)
		used |= 1u << (ring->answers[i].id & ID_INDEX);
	for (uint32_t i = ring->req_cons; i != producer; i++)
		used |= 1u << (pvf_load64(&vbd_ring_slot(ring, i)[1]) & ID_INDEX);
	for (uint32_t i = 0; i < VBD_RING_ENTRIES; i++)
		if (!(used & 1u << i)) {
			response->id = (response->id & ~(uint64_t)ID_INDEX) | i;
			return true;
		}
	return false;
}

/* An id that was answered before, of the slot that this request uses now. */
static bool stale_id(struct vbd_back *back, struct pvf_wire_blkif_response *response)
{
	const struct vbd_fault *fault = &back->fault;
	uint32_t known = fault->ids < VBD_STALE_IDS ? fault->ids : VBD_STALE_IDS;

	for (uint32_t i = 0; i < known; i++) {
		uint64_t id = fault->answered[i];

		if (id != response->id && (id & ID_INDEX) == (response->id & ID_INDEX)) {
			response->id = id;
			return true;
		}
	}
	return false;
}

static bool repeat(struct vbd_back *back, struct pvf_wire_blkif_response *response)
{
	(void)back;
	(void)response;
	return true;
}

static bool bad_op(struct vbd_back *back, struct pvf_wire_blkif_response *response)
{
	(void)back;
	response->operation ^= 1u;
	return true;
}

static bool bad_status(struct vbd_back *back, struct pvf_wire_blkif_response *response)
{
	(void)back;
	response->status = 17;
	return true;
}

/* ---- the producer index ---- */

static uint32_t far_ahead(struct vbd_back *back, uint32_t producer)
{
	(void)back;
	return producer + 10 * VBD_RING_ENTRIES;
}

static uint32_t go_back(struct vbd_back *back, uint32_t producer)
{
	(void)producer;
	return back->ring.published - 1;
}

/* ---- steps ---- */

static void say_initialised(struct vbd_back *back)
{
	vbd_back_set_state(back, PVF_STATE_INITIALISED);
	vbd_back_later(back, vbd_back_announce);
}

static void publish_later(struct vbd_back *back)
{
	vbd_back_later(back, vbd_back_publish);
}

static const struct row rows[FAULTS] = {
	[FAULT_DIE] = {.request = die},
	[FAULT_STALL] = {.on = true, .request = stall},
	[FAULT_SILENT_INIT] = {.on = true, .has_step = true, .step = VBD_STEP_ANNOUNCE},
	[FAULT_SILENT_INITWAIT] = {.on = true, .has_step = true, .step = VBD_STEP_CONNECT},
	[FAULT_SILENT_CLOSE] = {.on = true, .has_step = true, .step = VBD_STEP_CLOSE},
	[FAULT_ERROR] = {.request = answer_error},
	[FAULT_UNSUPPORTED] = {.request = answer_unsupported},
	[FAULT_BAD_ID] = {.response = bad_id, .copies = 1},
	[FAULT_FREE_ID] = {.response = free_id, .copies = 1},
	[FAULT_STALE_ID] = {.response = stale_id, .copies = 1},
	[FAULT_REPEAT] = {.response = repeat, .copies = 2},
	[FAULT_BAD_OP] = {.response = bad_op, .copies = 1},
	[FAULT_BAD_STATUS] = {.response = bad_status, .copies = 1},
	[FAULT_OVERRUN] = {.producer = far_ahead},
	[FAULT_BACKWARDS] = {.producer = go_back},
	[FAULT_CLOSED] = {.request = jump_closed},
	[FAULT_RESTART] = {.request = restart},
	[FAULT_VANISH] = {.request = vanish},
	[FAULT_SKIP] = {.has_step = true, .step = VBD_STEP_ANNOUNCE, .instead = say_initialised},
	[FAULT_LATE_KEYS] = {.on = true, .has_step = true, .step = VBD_STEP_PUBLISH, .instead = publish_later},
	[FAULT_DOUBLE_NOTIFY] = {.on = true, .notifies = true, .notifications = 2},
	[FAULT_NO_NOTIFY] = {.on = true, .notifies = true, .notifications = 0},
};

static const struct row no_fault;

/* ---- when ---- */

static const struct row *active(const struct vbd_back *back)
{
	return back->fault.kind < FAULTS ? &rows[back->fault.kind] : &no_fault;
}

static bool due(struct vbd_back *back, bool on)
{
	struct vbd_fault *fault = &back->fault;

	fault->count += fault->count < UINT32_MAX;
	return fault->count >= fault->at && (on || !fault->spent);
}

bool vbd_fault_parse(const char *text, uint32_t *fault, uint32_t *at)
{
	uint32_t length = 0;

	*fault = VBD_NO_FAULT;
	*at = 1;
	if (!text)
		return true;
	while (text[length] && text[length] != '@')
		length++;
	if (text[length] && !vbd_text_parse(text + length + 1, vbd_text_length(text + length + 1), at))
		return false;
	for (uint32_t i = 0; i < FAULTS; i++)
		if (vbd_text_is(text, length, pvf_sim_fault_names[i].name)) {
			*fault = i;
			return *at >= 1;
		}
	return false;
}

void vbd_fault_refresh(struct vbd_back *back)
{
	uint32_t generation = pvf_load32_acquire(&back->control->generation);
	struct vbd_fault *fault = &back->fault;

	if (generation == fault->generation)
		return;
	*fault = (struct vbd_fault){
		.generation = generation,
		.kind = pvf_load32(&back->control->fault),
		.at = pvf_load32(&back->control->at),
	};
	fault->random = fault->at * 2654435761u | 1u;
	/* What an earlier fault held up may go on. */
	back->look = true;
}

/* ---- where ---- */

bool vbd_fault_step(struct vbd_back *back, enum vbd_step step)
{
	const struct row *row = active(back);

	if (!row->has_step || row->step != step || !due(back, row->on))
		return true;
	back->fault.spent = true;
	if (row->instead)
		row->instead(back);
	return false;
}

uint64_t vbd_fault_sectors(struct vbd_back *back, uint64_t sectors)
{
	return back->fault.kind == FAULT_SIZE ? sectors + ((uint64_t)back->fault.at << 11) : sectors;
}

enum vbd_verdict vbd_fault_request(struct vbd_back *back, int16_t *status)
{
	const struct row *row = active(back);

	if (!row->request || !due(back, row->on))
		return VBD_SERVE;
	back->fault.spent = true;
	return row->request(back, status);
}

void vbd_fault_data(struct vbd_back *back, void *data)
{
	if (back->fault.kind != FAULT_CORRUPT || !due(back, false))
		return;
	back->fault.spent = true;
	*(uint8_t *)data ^= 0x10u;
}

uint32_t vbd_fault_response(struct vbd_back *back, struct pvf_wire_blkif_response *response)
{
	const struct row *row = active(back);
	struct vbd_fault *fault = &back->fault;
	uint64_t id = response->id;
	uint32_t copies = 1;

	if (row->response && due(back, row->on) && row->response(back, response)) {
		fault->spent = true;
		copies = row->copies;
	}
	if (fault->kind == FAULT_STALE_ID)
		fault->answered[fault->ids++ % VBD_STALE_IDS] = id;
	return copies;
}

static uint32_t random_below(struct vbd_fault *fault, uint32_t n)
{
	fault->random ^= fault->random << 13;
	fault->random ^= fault->random >> 17;
	fault->random ^= fault->random << 5;
	return fault->random % n;
}

void vbd_fault_order(struct vbd_back *back)
{
	struct vbd_ring *ring = &back->ring;

	if (back->fault.kind != FAULT_SHUFFLE)
		return;
	for (uint32_t i = ring->nr_answers; i > 1; i--) {
		uint32_t j = random_below(&back->fault, i);
		struct pvf_wire_blkif_response answer = ring->answers[i - 1];

		ring->answers[i - 1] = ring->answers[j];
		ring->answers[j] = answer;
	}
}

uint32_t vbd_fault_producer(struct vbd_back *back, uint32_t producer)
{
	const struct row *row = active(back);

	if (!row->producer || !due(back, row->on))
		return producer;
	back->fault.spent = true;
	return row->producer(back, producer);
}

uint32_t vbd_fault_notifications(struct vbd_back *back, uint32_t notifications)
{
	const struct row *row = active(back);

	if (!notifications || !row->notifies || !due(back, row->on))
		return notifications;
	return row->notifications;
}

bool vbd_fault_keeps_grants(const struct vbd_back *back)
{
	return back->fault.kind == FAULT_KEEP_GRANTS;
}

bool vbd_fault_is_early(uint32_t fault)
{
	return fault == FAULT_EARLY;
}

bool vbd_fault_polls(const struct vbd_back *back)
{
	/* Where polling cannot help (stepped), the toolstack has this backend run within the notification. */
	return vbd_fault_is_early(back->fault.kind) && !(back->host->ops->caps & PVF_HOST_NO_SPIN);
}
