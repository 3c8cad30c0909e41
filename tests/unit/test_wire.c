/* SPDX-License-Identifier: MIT */
/*
 * Our wire structs against Xen's public headers, member by member and constant by constant, where those compile (x86_64,
 * i386, arm, arm64); against numbers written by hand from the layout everywhere. On i386 Xen's own blkif structs are the
 * x86_32 layout, which is another protocol: there the blkif numbers are the hand-written ones only.
 */
#include <pvfront/wire/blkif.h>
#include <pvfront/wire/grant.h>
#include <pvfront/wire/ring.h>
#include <pvfront/wire/xenbus.h>
#include <pvfront/wire/xs.h>

#include <errno.h>
#include <string.h>

#include "check.h"

#if defined(__x86_64__) || defined(__i386__) || defined(__arm__) || defined(__aarch64__)
#define HAVE_XEN_HEADERS 1
/* ring.h asks for the barriers of whoever includes it; nothing here runs them. */
#define xen_mb() ((void)0)
#define xen_rmb() ((void)0)
#define xen_wmb() ((void)0)
#include <xen/grant_table.h>
#include <xen/io/blkif.h>
#include <xen/io/protocols.h>
#include <xen/io/ring.h>
#include <xen/io/xenbus.h>
#include <xen/io/xs_wire.h>
#if !defined(__i386__)
#define HAVE_XEN_BLKIF 1
#endif
#endif

#define MEMBER_SIZE(type, member) sizeof(((type *)0)->member)

/* ------------------------------------------------------------------ Xen's headers */

#if defined(HAVE_XEN_HEADERS)

#define SAME_MEMBER(ours, member, theirs, their_member) \
	do { \
		assert_int_equal(offsetof(ours, member), offsetof(theirs, their_member)); \
		assert_int_equal(MEMBER_SIZE(ours, member), MEMBER_SIZE(theirs, their_member)); \
	} while (0)

static void ring_is_xens(void **state)
{
	(void)state;
	SAME_MEMBER(struct pvf_wire_ring, req_prod, struct blkif_sring, req_prod);
	SAME_MEMBER(struct pvf_wire_ring, req_event, struct blkif_sring, req_event);
	SAME_MEMBER(struct pvf_wire_ring, rsp_prod, struct blkif_sring, rsp_prod);
	SAME_MEMBER(struct pvf_wire_ring, rsp_event, struct blkif_sring, rsp_event);
	assert_int_equal(offsetof(struct pvf_wire_ring, pad), offsetof(struct blkif_sring, pvt));
	assert_int_equal(PVF_WIRE_RING_HEADER, offsetof(struct blkif_sring, ring));
	assert_int_equal(sizeof(struct pvf_wire_ring), offsetof(struct blkif_sring, ring));
}

static void blkif_numbers_are_xens(void **state)
{
	(void)state;
	assert_int_equal(PVF_WIRE_BLKIF_MAX_DIRECT, BLKIF_MAX_SEGMENTS_PER_REQUEST);
	assert_int_equal(PVF_WIRE_BLKIF_OP_READ, BLKIF_OP_READ);
	assert_int_equal(PVF_WIRE_BLKIF_OP_WRITE, BLKIF_OP_WRITE);
	assert_int_equal(PVF_WIRE_BLKIF_OP_WRITE_BARRIER, BLKIF_OP_WRITE_BARRIER);
	assert_int_equal(PVF_WIRE_BLKIF_OP_FLUSH, BLKIF_OP_FLUSH_DISKCACHE);
	assert_int_equal(PVF_WIRE_BLKIF_OP_DISCARD, BLKIF_OP_DISCARD);
	assert_int_equal(PVF_WIRE_BLKIF_OP_INDIRECT, BLKIF_OP_INDIRECT);
	assert_int_equal(PVF_WIRE_BLKIF_OKAY, BLKIF_RSP_OKAY);
	assert_int_equal(PVF_WIRE_BLKIF_ERROR, BLKIF_RSP_ERROR);
	assert_int_equal(PVF_WIRE_BLKIF_EOPNOTSUPP, BLKIF_RSP_EOPNOTSUPP);
	assert_int_equal(PVF_WIRE_BLKIF_INFO_CDROM, VDISK_CDROM);
	assert_int_equal(PVF_WIRE_BLKIF_INFO_REMOVABLE, VDISK_REMOVABLE);
	assert_int_equal(PVF_WIRE_BLKIF_INFO_READONLY, VDISK_READONLY);
	assert_string_equal(PVF_WIRE_BLKIF_PROTOCOL, XEN_IO_PROTO_ABI_X86_64);
}

static void blkif_segment_is_xens(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct pvf_wire_blkif_segment), sizeof(struct blkif_request_segment));
	SAME_MEMBER(struct pvf_wire_blkif_segment, gref, struct blkif_request_segment, gref);
	SAME_MEMBER(struct pvf_wire_blkif_segment, first_sect, struct blkif_request_segment, first_sect);
	SAME_MEMBER(struct pvf_wire_blkif_segment, last_sect, struct blkif_request_segment, last_sect);
}

#if defined(HAVE_XEN_BLKIF)
static void blkif_layout_is_xens(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct pvf_wire_blkif_request), sizeof(struct blkif_request));
	SAME_MEMBER(struct pvf_wire_blkif_request, operation, struct blkif_request, operation);
	SAME_MEMBER(struct pvf_wire_blkif_request, nr_segments, struct blkif_request, nr_segments);
	SAME_MEMBER(struct pvf_wire_blkif_request, handle, struct blkif_request, handle);
	SAME_MEMBER(struct pvf_wire_blkif_request, id, struct blkif_request, id);
	SAME_MEMBER(struct pvf_wire_blkif_request, sector_number, struct blkif_request, sector_number);
	SAME_MEMBER(struct pvf_wire_blkif_request, seg, struct blkif_request, seg);
	assert_int_equal(sizeof(struct pvf_wire_blkif_response), sizeof(struct blkif_response));
	SAME_MEMBER(struct pvf_wire_blkif_response, id, struct blkif_response, id);
	SAME_MEMBER(struct pvf_wire_blkif_response, operation, struct blkif_response, operation);
	SAME_MEMBER(struct pvf_wire_blkif_response, status, struct blkif_response, status);
	assert_int_equal(sizeof(union pvf_wire_blkif_entry), sizeof(union blkif_sring_entry));
}
#endif

static void xenbus_states_are_xens(void **state)
{
	(void)state;
	assert_int_equal(PVF_STATE_UNKNOWN, (int)XenbusStateUnknown);
	assert_int_equal(PVF_STATE_INITIALISING, (int)XenbusStateInitialising);
	assert_int_equal(PVF_STATE_INIT_WAIT, (int)XenbusStateInitWait);
	assert_int_equal(PVF_STATE_INITIALISED, (int)XenbusStateInitialised);
	assert_int_equal(PVF_STATE_CONNECTED, (int)XenbusStateConnected);
	assert_int_equal(PVF_STATE_CLOSING, (int)XenbusStateClosing);
	assert_int_equal(PVF_STATE_CLOSED, (int)XenbusStateClosed);
	assert_int_equal(PVF_STATE_RECONFIGURING, (int)XenbusStateReconfiguring);
	assert_int_equal(PVF_STATE_RECONFIGURED, (int)XenbusStateReconfigured);
	assert_int_equal(PVF_STATES, (int)XenbusStateReconfigured + 1);
}

static void xs_types_are_xens(void **state)
{
	(void)state;
	assert_int_equal(PVF_XS_CONTROL, (int)XS_CONTROL);
	assert_int_equal(PVF_XS_DIRECTORY, (int)XS_DIRECTORY);
	assert_int_equal(PVF_XS_READ, (int)XS_READ);
	assert_int_equal(PVF_XS_GET_PERMS, (int)XS_GET_PERMS);
	assert_int_equal(PVF_XS_WATCH, (int)XS_WATCH);
	assert_int_equal(PVF_XS_UNWATCH, (int)XS_UNWATCH);
	assert_int_equal(PVF_XS_TRANSACTION_START, (int)XS_TRANSACTION_START);
	assert_int_equal(PVF_XS_TRANSACTION_END, (int)XS_TRANSACTION_END);
	assert_int_equal(PVF_XS_INTRODUCE, (int)XS_INTRODUCE);
	assert_int_equal(PVF_XS_RELEASE, (int)XS_RELEASE);
	assert_int_equal(PVF_XS_GET_DOMAIN_PATH, (int)XS_GET_DOMAIN_PATH);
	assert_int_equal(PVF_XS_WRITE, (int)XS_WRITE);
	assert_int_equal(PVF_XS_MKDIR, (int)XS_MKDIR);
	assert_int_equal(PVF_XS_RM, (int)XS_RM);
	assert_int_equal(PVF_XS_SET_PERMS, (int)XS_SET_PERMS);
	assert_int_equal(PVF_XS_WATCH_EVENT, (int)XS_WATCH_EVENT);
	assert_int_equal(PVF_XS_ERROR, (int)XS_ERROR);
	assert_int_equal(PVF_XS_IS_DOMAIN_INTRODUCED, (int)XS_IS_DOMAIN_INTRODUCED);
	assert_int_equal(PVF_XS_RESUME, (int)XS_RESUME);
	assert_int_equal(PVF_XS_SET_TARGET, (int)XS_SET_TARGET);
	assert_int_equal(PVF_XS_RESET_WATCHES, (int)XS_RESET_WATCHES);
	assert_int_equal(PVF_XS_DIRECTORY_PART, (int)XS_DIRECTORY_PART);
}

static void xs_layout_is_xens(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct pvf_wire_xs_header), sizeof(struct xsd_sockmsg));
	SAME_MEMBER(struct pvf_wire_xs_header, type, struct xsd_sockmsg, type);
	SAME_MEMBER(struct pvf_wire_xs_header, req_id, struct xsd_sockmsg, req_id);
	SAME_MEMBER(struct pvf_wire_xs_header, tx_id, struct xsd_sockmsg, tx_id);
	SAME_MEMBER(struct pvf_wire_xs_header, length, struct xsd_sockmsg, len);
	assert_int_equal(sizeof(struct pvf_wire_xs_interface), sizeof(struct xenstore_domain_interface));
	SAME_MEMBER(struct pvf_wire_xs_interface, req, struct xenstore_domain_interface, req);
	SAME_MEMBER(struct pvf_wire_xs_interface, rsp, struct xenstore_domain_interface, rsp);
	SAME_MEMBER(struct pvf_wire_xs_interface, req_cons, struct xenstore_domain_interface, req_cons);
	SAME_MEMBER(struct pvf_wire_xs_interface, req_prod, struct xenstore_domain_interface, req_prod);
	SAME_MEMBER(struct pvf_wire_xs_interface, rsp_cons, struct xenstore_domain_interface, rsp_cons);
	SAME_MEMBER(struct pvf_wire_xs_interface, rsp_prod, struct xenstore_domain_interface, rsp_prod);
	SAME_MEMBER(struct pvf_wire_xs_interface, server_features, struct xenstore_domain_interface, server_features);
	SAME_MEMBER(struct pvf_wire_xs_interface, connection, struct xenstore_domain_interface, connection);
	SAME_MEMBER(struct pvf_wire_xs_interface, error, struct xenstore_domain_interface, error);
}

static void xs_numbers_are_xens(void **state)
{
	(void)state;
	assert_int_equal(PVF_WIRE_XS_HEADER, sizeof(struct xsd_sockmsg));
	assert_int_equal(PVF_WIRE_XS_PAYLOAD_MAX, XENSTORE_PAYLOAD_MAX);
	assert_int_equal(PVF_WIRE_XS_ABS_PATH_MAX, XENSTORE_ABS_PATH_MAX);
	assert_int_equal(PVF_WIRE_XS_REL_PATH_MAX, XENSTORE_REL_PATH_MAX);
	assert_int_equal(PVF_WIRE_XS_RING, XENSTORE_RING_SIZE);
	assert_int_equal(PVF_WIRE_XS_FEATURE_RECONNECTION, XENSTORE_SERVER_FEATURE_RECONNECTION);
	assert_int_equal(PVF_WIRE_XS_FEATURE_ERROR, XENSTORE_SERVER_FEATURE_ERROR);
	assert_int_equal(PVF_WIRE_XS_ERROR_NONE, XENSTORE_ERROR_NONE);
	assert_int_equal(PVF_WIRE_XS_ERROR_COMM, XENSTORE_ERROR_COMM);
	assert_int_equal(PVF_WIRE_XS_ERROR_RINGIDX, XENSTORE_ERROR_RINGIDX);
	assert_int_equal(PVF_WIRE_XS_ERROR_PROTO, XENSTORE_ERROR_PROTO);
}

static void grants_are_xens(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct pvf_wire_grant_v1), sizeof(struct grant_entry_v1));
	SAME_MEMBER(struct pvf_wire_grant_v1, flags, struct grant_entry_v1, flags);
	SAME_MEMBER(struct pvf_wire_grant_v1, domid, struct grant_entry_v1, domid);
	SAME_MEMBER(struct pvf_wire_grant_v1, frame, struct grant_entry_v1, frame);
	assert_int_equal(PVF_WIRE_GTF_INVALID, GTF_invalid);
	assert_int_equal(PVF_WIRE_GTF_PERMIT_ACCESS, GTF_permit_access);
	assert_int_equal(PVF_WIRE_GTF_READ_ONLY, GTF_readonly);
	assert_int_equal(PVF_WIRE_GTF_READING, GTF_reading);
	assert_int_equal(PVF_WIRE_GTF_WRITING, GTF_writing);
	assert_int_equal(PVF_WIRE_GRANTS_PER_FRAME, 4096u / sizeof(struct grant_entry_v1));
	assert_true(PVF_WIRE_GRANT_RESERVED > GNTTAB_RESERVED_CONSOLE);
	assert_true(PVF_WIRE_GRANT_RESERVED > GNTTAB_RESERVED_XENSTORE);
}

#endif

/* ------------------------------------------------------------------ by hand */

struct number {
	const char *name;
	size_t ours;
	size_t by_hand;
};

#define OFFSET(type, member, by_hand) \
	{ \
#type "." #member, offsetof(type, member), by_hand \
	}
#define SIZE(type, by_hand) \
	{ \
#type, sizeof(type), by_hand \
	}

static void numbers_by_hand(void **state)
{
	static const struct number numbers[] = {
		SIZE(struct pvf_wire_ring, 64),
		OFFSET(struct pvf_wire_ring, req_prod, 0),
		OFFSET(struct pvf_wire_ring, req_event, 4),
		OFFSET(struct pvf_wire_ring, rsp_prod, 8),
		OFFSET(struct pvf_wire_ring, rsp_event, 12),
		OFFSET(struct pvf_wire_ring, pad, 16),
		SIZE(struct pvf_wire_blkif_segment, 8),
		OFFSET(struct pvf_wire_blkif_segment, gref, 0),
		OFFSET(struct pvf_wire_blkif_segment, first_sect, 4),
		OFFSET(struct pvf_wire_blkif_segment, last_sect, 5),
		SIZE(struct pvf_wire_blkif_request, 112),
		OFFSET(struct pvf_wire_blkif_request, operation, 0),
		OFFSET(struct pvf_wire_blkif_request, nr_segments, 1),
		OFFSET(struct pvf_wire_blkif_request, handle, 2),
		OFFSET(struct pvf_wire_blkif_request, id, 8),
		OFFSET(struct pvf_wire_blkif_request, sector_number, 16),
		OFFSET(struct pvf_wire_blkif_request, seg, 24),
		SIZE(struct pvf_wire_blkif_response, 16),
		OFFSET(struct pvf_wire_blkif_response, id, 0),
		OFFSET(struct pvf_wire_blkif_response, operation, 8),
		OFFSET(struct pvf_wire_blkif_response, status, 10),
		SIZE(union pvf_wire_blkif_entry, 112),
		SIZE(struct pvf_wire_xs_header, 16),
		OFFSET(struct pvf_wire_xs_header, type, 0),
		OFFSET(struct pvf_wire_xs_header, req_id, 4),
		OFFSET(struct pvf_wire_xs_header, tx_id, 8),
		OFFSET(struct pvf_wire_xs_header, length, 12),
		SIZE(struct pvf_wire_xs_interface, 2076),
		OFFSET(struct pvf_wire_xs_interface, req, 0),
		OFFSET(struct pvf_wire_xs_interface, rsp, 1024),
		OFFSET(struct pvf_wire_xs_interface, req_cons, 2048),
		OFFSET(struct pvf_wire_xs_interface, req_prod, 2052),
		OFFSET(struct pvf_wire_xs_interface, rsp_cons, 2056),
		OFFSET(struct pvf_wire_xs_interface, rsp_prod, 2060),
		OFFSET(struct pvf_wire_xs_interface, server_features, 2064),
		OFFSET(struct pvf_wire_xs_interface, connection, 2068),
		OFFSET(struct pvf_wire_xs_interface, error, 2072),
		SIZE(struct pvf_wire_grant_v1, 8),
		OFFSET(struct pvf_wire_grant_v1, flags, 0),
		OFFSET(struct pvf_wire_grant_v1, domid, 2),
		OFFSET(struct pvf_wire_grant_v1, frame, 4),
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (numbers[i].ours != numbers[i].by_hand)
			fail_msg("%s is %zu and has to be %zu", numbers[i].name, numbers[i].ours, numbers[i].by_hand);
	}
}

/* ------------------------------------------------------------------ golden vectors */

/* Bytes from hexadecimal text; spaces are for the reader. */
static size_t from_hex(const char *text, uint8_t *bytes)
{
	size_t n = 0;

	for (; *text; text++) {
		const char *digits = "0123456789abcdef";
		const char *high = *text == ' ' ? NULL : strchr(digits, *text);

		if (!high)
			continue;
		text++;
		bytes[n++] = (uint8_t)((high - digits) << 4 | (strchr(digits, *text) - digits));
	}
	return n;
}

struct request_vector {
	const char *hex;
	uint8_t operation, nr_segments;
	uint16_t handle;
	uint64_t id, sector_number;
	uint32_t first_gref;           /* the others count up from it */
	uint8_t first_sect, last_sect; /* of the first and of the last segment; the rest is whole pages */
};

static const struct request_vector request_vectors[] = {
	{/* read, 11 segments: 512 bytes into the first page to the end of the third sector of the last */
	 "00 0b 00ca 00000000 0700000001000000 0800000000020000"
	 "08000000 03 07 0000  09000000 00 07 0000  0a000000 00 07 0000  0b000000 00 07 0000"
	 "0c000000 00 07 0000  0d000000 00 07 0000  0e000000 00 07 0000  0f000000 00 07 0000"
	 "10000000 00 07 0000  11000000 00 07 0000  12000000 00 02 0000",
	 PVF_WIRE_BLKIF_OP_READ, 11, 0xca00, 0x0000000100000007u, 0x0000020000000008u, 8, 3, 2},
	{/* write, one sector, the fifth of its page */
	 "01 01 10ca 00000000 efcdab8967452301 ffffffff00000000"
	 "78563412 04 04 0000",
	 PVF_WIRE_BLKIF_OP_WRITE, 1, 0xca10, 0x0123456789abcdefu, 0xffffffffu, 0x12345678, 4, 4},
	{/* flush: no segments */
	 "03 00 00ca 00000000 0000000000000080 0000000000000000", PVF_WIRE_BLKIF_OP_FLUSH, 0, 0xca00,
	 0x8000000000000000u, 0, 0, 0, 0},
};

#define REQUEST_VECTORS (sizeof(request_vectors) / sizeof(request_vectors[0]))

/* Fills either our struct or Xen's: the members have the same names. */
#define FILL_REQUEST(request, vector) \
	do { \
		uint32_t fill_i; \
		memset(&(request), 0, sizeof(request)); \
		(request).operation = (vector)->operation; \
		(request).nr_segments = (vector)->nr_segments; \
		(request).handle = (vector)->handle; \
		(request).id = (vector)->id; \
		(request).sector_number = (vector)->sector_number; \
		for (fill_i = 0; fill_i < (vector)->nr_segments; fill_i++) { \
			(request).seg[fill_i].gref = (vector)->first_gref + fill_i; \
			(request).seg[fill_i].first_sect = fill_i == 0 ? (vector)->first_sect : 0; \
			(request).seg[fill_i].last_sect = \
				fill_i + 1u == (vector)->nr_segments ? (vector)->last_sect : 7; \
		} \
	} while (0)

static void golden_requests(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < REQUEST_VECTORS; i++) {
		const struct request_vector *vector = &request_vectors[i];
		union pvf_wire_blkif_entry entry;
		uint8_t bytes[112] = {0};

		assert_int_equal(from_hex(vector->hex, bytes), 24u + 8u * vector->nr_segments);
		memset(&entry, 0, sizeof(entry));
		FILL_REQUEST(entry.request, vector);
		assert_memory_equal(&entry, bytes, sizeof(bytes));
#if defined(HAVE_XEN_BLKIF)
		{
			struct blkif_request xen;

			FILL_REQUEST(xen, vector);
			assert_memory_equal(&xen, bytes, sizeof(bytes));
		}
#endif
	}
}

struct response_vector {
	const char *hex;
	uint64_t id;
	uint8_t operation;
	int16_t status;
};

static void golden_responses(void **state)
{
	static const struct response_vector vectors[] = {
		{"0700000001000000 00 00 0000 00000000", 0x0000000100000007u, PVF_WIRE_BLKIF_OP_READ,
		 PVF_WIRE_BLKIF_OKAY},
		{"efcdab8967452301 01 00 ffff 00000000", 0x0123456789abcdefu, PVF_WIRE_BLKIF_OP_WRITE,
		 PVF_WIRE_BLKIF_ERROR},
		{"0000000000000080 03 00 feff 00000000", 0x8000000000000000u, PVF_WIRE_BLKIF_OP_FLUSH,
		 PVF_WIRE_BLKIF_EOPNOTSUPP},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct pvf_wire_blkif_response response;
		uint8_t bytes[16];

		assert_int_equal(from_hex(vectors[i].hex, bytes), sizeof(bytes));
		memcpy(&response, bytes, sizeof(bytes));
		assert_true(response.id == vectors[i].id);
		assert_int_equal(response.operation, vectors[i].operation);
		assert_int_equal(response.status, vectors[i].status);
		assert_int_equal(response.pad0, 0);
		assert_int_equal(response.pad1, 0);
#if defined(HAVE_XEN_BLKIF)
		{
			struct blkif_response xen;

			memcpy(&xen, bytes, sizeof(bytes));
			assert_true(xen.id == vectors[i].id);
			assert_int_equal(xen.operation, vectors[i].operation);
			assert_int_equal(xen.status, vectors[i].status);
		}
#endif
	}
}

static void golden_xs_header(void **state)
{
	struct pvf_wire_xs_header header = {PVF_XS_WRITE, 0x01020304, 7, 4096};
	uint8_t bytes[16];

	(void)state;
	assert_int_equal(from_hex("0b000000 04030201 07000000 00100000", bytes), sizeof(bytes));
	assert_memory_equal(&header, bytes, sizeof(bytes));
}

/* Linux and Windows backends count entries of a page as a power of two (PROTOCOL, ABI sizes: 32 for one page). */
static void ring_holds_32_entries(void **state)
{
	(void)state;
	assert_int_equal((4096u - PVF_WIRE_RING_HEADER) / sizeof(union pvf_wire_blkif_entry), 36);
#if defined(HAVE_XEN_BLKIF)
	assert_int_equal(__CONST_RING_SIZE(blkif, 4096), 32);
#endif
}

int main(void)
{
	static const struct pvf_test tests[] = {
#if defined(HAVE_XEN_HEADERS)
		PVF_TEST(ring_is_xens, "V01", "public-headers", "the ring's head is Xen's"),
		PVF_TEST(blkif_numbers_are_xens, "V01", "public-headers", "the block protocol's numbers are Xen's"),
		PVF_TEST(blkif_segment_is_xens, "V01", "public-headers", "the block protocol's segment is Xen's"),
#if defined(HAVE_XEN_BLKIF)
		PVF_TEST(blkif_layout_is_xens, "V01", "public-headers",
			 "the block protocol's requests and responses are Xen's"),
#endif
		PVF_TEST(xenbus_states_are_xens, "X04", "public-headers", "the states are Xen's"),
		PVF_TEST(xs_types_are_xens, "X09", "public-headers", "the store's message types are Xen's"),
		PVF_TEST(xs_layout_is_xens, "X09", "public-headers", "the store's page and header are Xen's"),
		PVF_TEST(xs_numbers_are_xens, "X08 X09", "public-headers", "the store's limits and bits are Xen's"),
		PVF_TEST(grants_are_xens, "V01", "public-headers", "grant entries are Xen's"),
#endif
		PVF_TEST(numbers_by_hand, "V01 X09", "unit", "sizes and offsets are what the layout says"),
		PVF_TEST(golden_requests, "V01", "unit", "requests have the bytes written down for them"),
		PVF_TEST(golden_responses, "V01", "unit", "responses are read from the bytes written down for them"),
		PVF_TEST(golden_xs_header, "X09", "unit", "a store header has the bytes written down for it"),
		PVF_TEST(ring_holds_32_entries, "V01", "unit", "a one-page ring has 32 entries"),
	};

	return pvf_run_tests("unit", tests, sizeof(tests) / sizeof(tests[0]));
}
