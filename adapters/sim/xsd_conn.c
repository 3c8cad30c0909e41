/* SPDX-License-Identifier: MIT */
/*
 * xenstored's end of a domain's ring: takes what has come, however it is cut, and sends what fits, without ever waiting.
 */
#include "xsd.h"

#include "bytes.h"

#define RING_MASK (PVF_WIRE_XS_RING - 1u)

/* The page's error field (Xen: io/xs_wire.h). */
#define ERROR_RINGIDX 2u
#define ERROR_PROTO 3u

static bool give_up(struct xsd *xsd, struct xsd_conn *conn, uint32_t reason)
{
	pvf_store32(&conn->page->error, reason);
	conn->broken = true;
	sim_log(xsd->sim, PVF_LOG_WARNING,
		"xenstored: a domain broke the protocol on its ring; it is not served any more");
	return false;
}

/* ---- out ---- */

bool xsd_queue(struct xsd *xsd, struct xsd_conn *conn, uint32_t type, uint32_t req_id, uint32_t tx_id, const void *data,
	       uint32_t length)
{
	struct pvf_wire_xs_header header = {type, req_id, tx_id, length};
	struct xsd_message *message = sim_alloc(xsd->sim, sizeof(*message) + sizeof(header) + length);

	if (!message)
		return false;
	message->bytes = (uint32_t)sizeof(header) + length;
	message->answer = type != PVF_XS_WATCH_EVENT;
	memcpy(message->data, &header, sizeof(header));
	if (length)
		memcpy(message->data + sizeof(header), data, length);
	*conn->out_last = message;
	conn->out_last = &message->next;
	conn->answers += message->answer;
	return true;
}

static void drop_first(struct xsd *xsd, struct xsd_conn *conn)
{
	struct xsd_message *message = conn->out;

	conn->out = message->next;
	if (!conn->out)
		conn->out_last = &conn->out;
	conn->out_sent = 0;
	conn->answers -= message->answer;
	sim_free(xsd->sim, message, sizeof(*message) + message->bytes);
}

/* Copies into the ring at a free-running index; the copy may go around its end. */
static void ring_put(uint8_t *ring, uint32_t index, const uint8_t *data, uint32_t bytes)
{
	uint32_t at = index & RING_MASK, first = PVF_WIRE_XS_RING - at;

	if (first > bytes)
		first = bytes;
	memcpy(ring + at, data, first);
	memcpy(ring, data + first, bytes - first);
}

static void ring_get(const uint8_t *ring, uint32_t index, uint8_t *data, uint32_t bytes)
{
	uint32_t at = index & RING_MASK, first = PVF_WIRE_XS_RING - at;

	if (first > bytes)
		first = bytes;
	memcpy(data, ring + at, first);
	memcpy(data + first, ring, bytes - first);
}

/* Sends as much as there is room for. */
static bool ring_send(struct xsd *xsd, struct xsd_conn *conn)
{
	struct pvf_wire_xs_interface *page = conn->page;
	uint32_t prod = pvf_load32(&page->rsp_prod), start = prod;

	while (conn->out) {
		uint32_t used = prod - pvf_load32_acquire(&page->rsp_cons);
		uint32_t bytes = conn->out->bytes - conn->out_sent;

		if (used > PVF_WIRE_XS_RING)
			return give_up(xsd, conn, ERROR_RINGIDX);
		if (bytes > PVF_WIRE_XS_RING - used)
			bytes = PVF_WIRE_XS_RING - used;
		if (bytes == 0)
			break;
		/* The room was read before it is filled: nothing of the copy may come earlier. */
		pvf_mb();
		ring_put(page->rsp, prod, conn->out->data + conn->out_sent, bytes);
		prod += bytes;
		pvf_store32_release(&page->rsp_prod, prod);
		conn->out_sent += bytes;
		if (conn->out_sent == conn->out->bytes)
			drop_first(xsd, conn);
	}
	return prod != start;
}

/* ---- in ---- */

static uint32_t wanted(const struct xsd_conn *conn)
{
	const struct pvf_wire_xs_header *header = (const struct pvf_wire_xs_header *)(const void *)conn->in;

	if (conn->in_length < PVF_WIRE_XS_HEADER)
		return PVF_WIRE_XS_HEADER;
	return PVF_WIRE_XS_HEADER + header->length;
}

/* Takes bytes of one message; *complete when it is whole. */
static bool receive(struct xsd *xsd, struct xsd_conn *conn, bool *complete)
{
	const struct pvf_wire_xs_header *header = (const struct pvf_wire_xs_header *)(const void *)conn->in;
	struct pvf_wire_xs_interface *page = conn->page;
	uint32_t cons = pvf_load32(&page->req_cons), start = cons;

	*complete = false;
	for (;;) {
		uint32_t there = pvf_load32_acquire(&page->req_prod) - cons;
		uint32_t bytes = wanted(conn) - conn->in_length;

		if (there > PVF_WIRE_XS_RING)
			return give_up(xsd, conn, ERROR_RINGIDX);
		if (bytes > there)
			bytes = there;
		ring_get(page->req, cons, conn->in + conn->in_length, bytes);
		cons += bytes;
		conn->in_length += bytes;
		/* A payload that is too long is very bad (Xen: io/xs_wire.h): there is no way to find the next message. */
		if (conn->in_length >= PVF_WIRE_XS_HEADER && header->length > PVF_WIRE_XS_PAYLOAD_MAX)
			return give_up(xsd, conn, ERROR_PROTO);
		*complete = conn->in_length >= PVF_WIRE_XS_HEADER && conn->in_length == wanted(conn);
		if (*complete || bytes == there)
			break;
	}
	/* What was copied may be overwritten from here on. */
	pvf_mb();
	pvf_store32_release(&page->req_cons, cons);
	return cons != start;
}

bool xsd_serve(struct xsd *xsd, struct xsd_conn *conn)
{
	uint32_t sequence = pvf_event_sequence(&conn->event);
	bool moved, complete = false;

	if (conn->broken || pvf_load32_acquire(&conn->domain->faults.store_silent))
		return false;
	if (sequence != conn->seen) {
		conn->seen = sequence;
		conn->ready = true;
	}

	moved = conn->out && ring_send(xsd, conn);
	/* Who does not take its answers gets no more (xenstored's quota of outstanding requests). */
	if (conn->ready && !conn->broken && conn->answers < xsd->sim->limits.store_outstanding) {
		conn->ready = receive(xsd, conn, &complete);
		moved |= conn->ready;
	}
	if (complete) {
		xsd_request(xsd, conn);
		conn->in_length = 0;
		(void)ring_send(xsd, conn);
	}
	if (moved)
		hv_port_notify(&xsd->sim->hv, xsd->sim->store_domain->hv, conn->port);
	return moved;
}
