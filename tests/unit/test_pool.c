/* SPDX-License-Identifier: MIT */
/* The pool and parking, on a host that shares memory with nobody and counts. */
#include <stdlib.h>
#include <string.h>

#include <pvfront/grant.h>

#include "check.h"

struct fake {
	uint32_t shares, unshares, shared_pages, next_ref;
	uint32_t room;       /* pages that can still be shared */
	bool busy;           /* the peer maps everything */
	uint16_t last_domid; /* with whom the last region was shared */
	size_t memory;
};

static void *fake_alloc(void *ctx, size_t bytes)
{
	((struct fake *)ctx)->memory += bytes;
	return calloc(1, bytes);
}

static void fake_free(void *ctx, void *memory, size_t bytes)
{
	((struct fake *)ctx)->memory -= bytes;
	free(memory);
}

static int fake_share(void *ctx, struct pvf_region *region)
{
	struct fake *fake = ctx;

	if (region->pages > fake->room)
		return PVF_NO_SPACE;
	if (!region->base) {
		region->base = aligned_alloc(4096, region->pages * 4096ul);
		memset(region->base, 0, region->pages * 4096ul);
		fake->shared_pages += region->pages;
		fake->room -= region->pages;
	}
	fake->shares++;
	fake->last_domid = region->domid;
	for (uint32_t i = 0; i < region->pages; i++)
		region->refs[i] = fake->next_ref++;
	return PVF_OK;
}

static void drop(struct fake *fake, struct pvf_region *region)
{
	free(region->base);
	fake->shared_pages -= region->pages;
	fake->room += region->pages;
}

static int fake_unshare(void *ctx, struct pvf_region *region)
{
	struct fake *fake = ctx;

	fake->unshares++;
	if (fake->busy)
		return PVF_UNSHARE_BUSY;
	drop(fake, region);
	return PVF_UNSHARE_RELEASED;
}

static void fake_forget(void *ctx, struct pvf_region *region)
{
	drop(ctx, region);
}

static const struct pvf_host_ops ops = {
	.size = sizeof(ops),
	.alloc = fake_alloc,
	.free = fake_free,
	.share = fake_share,
	.unshare = fake_unshare,
	.forget = fake_forget,
};

struct bench {
	struct fake fake;
	struct pvf_parking parking;
	struct pvf_host host;
	struct pvf_pool pool;
};

static void begin(struct bench *b, uint32_t room, uint32_t limit)
{
	memset(b, 0, sizeof(*b));
	b->fake.room = room;
	b->fake.next_ref = 8;
	b->host = (struct pvf_host){.ops = &ops, .ctx = &b->fake, .parking = &b->parking};
	pvf_pool_init(&b->pool, &b->host, limit);
	assert_int_equal(pvf_pool_set_peer(&b->pool, 5), PVF_OK);
}

static void end(struct bench *b)
{
	pvf_pool_trim(&b->pool, true);
	assert_int_equal(b->pool.pages, 0);
	assert_int_equal(b->fake.shared_pages, 0);
	assert_int_equal(b->fake.memory, 0);
	assert_int_equal(b->parking.pages, 0);
}

static void pages_of_a_buffer_follow_each_other_and_belong_to_one_caller(void **state)
{
	struct pvf_seg segs[40];
	struct bench b;

	(void)state;
	begin(&b, 10000, 10000);
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(pvf_pool_get(&b.pool, i % 7 + 1, &segs[i]), PVF_OK);
	for (uint32_t i = 0; i < 40; i++) {
		assert_int_equal(segs[i].length, (i % 7 + 1) * 4096);
		for (uint32_t k = 1; k < segs[i].pages; k++)
			assert_int_equal(segs[i].refs[k], segs[i].refs[0] + k);
		for (uint32_t j = 0; j < i; j++) {
			uint8_t *a = segs[i].base, *c = segs[j].base;

			assert_true(a >= c + segs[j].length || c >= a + segs[i].length);
		}
	}
	for (uint32_t i = 0; i < 40; i++)
		pvf_pool_put(&b.pool, &segs[i]);
	end(&b);
}

static void a_page_given_back_is_used_again_without_a_new_grant(void **state)
{
	struct pvf_seg seg;
	struct bench b;
	void *first;

	(void)state;
	begin(&b, 10000, 10000);
	assert_int_equal(pvf_pool_get(&b.pool, 1, &seg), PVF_OK);
	first = seg.base;
	for (uint32_t i = 0; i < 1000; i++) {
		pvf_pool_put(&b.pool, &seg);
		assert_null(seg.base);
		assert_int_equal(pvf_pool_get(&b.pool, 1, &seg), PVF_OK);
		assert_ptr_equal(seg.base, first);
	}
	assert_int_equal(b.fake.shares, 1);
	end(&b);
}

static void a_large_buffer_is_one_region_and_is_used_again(void **state)
{
	struct pvf_seg seg;
	struct bench b;

	(void)state;
	begin(&b, 10000, 10000);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(pvf_pool_get(&b.pool, 1000, &seg), PVF_OK);
		assert_int_equal(seg.pages, 1000);
		pvf_pool_put(&b.pool, &seg);
	}
	assert_int_equal(b.fake.shares, 1);
	end(&b);
}

static void at_the_limit_the_pool_says_so_and_loses_nothing(void **state)
{
	struct pvf_seg segs[3];
	struct bench b;

	(void)state;
	begin(&b, 10000, 70);
	assert_int_equal(pvf_pool_get(&b.pool, 64, &segs[0]), PVF_OK);
	assert_int_equal(pvf_pool_get(&b.pool, 6, &segs[1]), PVF_OK);
	assert_int_equal(pvf_pool_get(&b.pool, 1, &segs[2]), PVF_NO_SPACE);
	pvf_pool_put(&b.pool, &segs[1]);
	assert_int_equal(pvf_pool_get(&b.pool, 6, &segs[2]), PVF_OK);
	end(&b);
	begin(&b, 3, 10000);
	assert_int_equal(pvf_pool_get(&b.pool, 4, &segs[0]), PVF_NO_SPACE);
	assert_int_equal(pvf_pool_get(&b.pool, 3, &segs[0]), PVF_OK);
	end(&b);
}

static void another_peer_makes_every_buffer_stale_but_keeps_its_memory(void **state)
{
	struct pvf_seg old, seg;
	struct bench b;

	(void)state;
	begin(&b, 10000, 10000);
	assert_int_equal(pvf_pool_get(&b.pool, 2, &old), PVF_OK);
	pvf_pool_set_peer(&b.pool, 5);
	assert_int_equal(old.tag, pvf_pool_tag(&b.pool));
	pvf_pool_set_peer(&b.pool, 6);
	assert_int_not_equal(old.tag, pvf_pool_tag(&b.pool));
	assert_int_equal(pvf_pool_get(&b.pool, 2, &seg), PVF_OK);
	assert_ptr_not_equal(seg.base, old.base);
	memset(old.base, 0xaa, old.length);
	pvf_pool_put(&b.pool, &old);
	assert_int_equal(b.fake.shared_pages, b.pool.pages);
	pvf_pool_put(&b.pool, &seg);
	end(&b);
}

/* XSA-396: what the peer maps is neither freed nor used again until it lets go. */
static void xsa396_pages_the_peer_holds_are_parked_until_it_lets_go(void **state)
{
	struct pvf_seg seg;
	struct bench b;

	(void)state;
	begin(&b, 10000, 10000);
	assert_int_equal(pvf_pool_get(&b.pool, 64, &seg), PVF_OK);
	b.fake.busy = true;
	pvf_pool_trim(&b.pool, true);
	assert_int_equal(b.parking.pages, 64);
	assert_int_equal(b.fake.shared_pages, 64);
	assert_int_equal(pvf_host_unpark(&b.host), 64);
	b.fake.busy = false;
	assert_int_equal(pvf_host_unpark(&b.host), 0);
	end(&b);
}

static void after_a_resume_the_references_change_and_the_addresses_stay(void **state)
{
	struct pvf_seg seg;
	struct bench b;
	uint32_t before, shares;
	void *base;

	(void)state;
	begin(&b, 10000, 10000);
	assert_int_equal(pvf_pool_get(&b.pool, 3, &seg), PVF_OK);
	before = seg.refs[1];
	base = seg.base;
	shares = b.fake.shares;
	b.fake.next_ref = 1000;
	pvf_pool_resumed(&b.pool);
	/* The peer is not named yet: it may be another. */
	assert_int_equal(b.fake.shares, shares);
	assert_int_equal(pvf_pool_set_peer(&b.pool, 5), PVF_OK);
	assert_int_equal(b.fake.shares, shares + 1u);
	assert_int_equal(seg.tag, pvf_pool_tag(&b.pool));
	assert_ptr_equal(seg.base, base);
	assert_int_not_equal(seg.refs[1], before);
	assert_int_equal(seg.refs[1], seg.refs[0] + 1);
	/* Once: the grants of after a resume are as good as any. */
	assert_int_equal(pvf_pool_set_peer(&b.pool, 5), PVF_OK);
	assert_int_equal(b.fake.shares, shares + 1u);
	pvf_pool_put(&b.pool, &seg);
	end(&b);
	assert_int_equal(b.fake.unshares, 1);
}

static void after_a_resume_with_another_peer_nothing_is_granted_to_the_old_one(void **state)
{
	struct pvf_seg old, seg;
	struct bench b;
	uint32_t shares;

	(void)state;
	begin(&b, 10000, 10000);
	assert_int_equal(pvf_pool_get(&b.pool, 3, &old), PVF_OK);
	shares = b.fake.shares;
	pvf_pool_resumed(&b.pool);
	assert_int_equal(pvf_pool_set_peer(&b.pool, 6), PVF_OK);
	assert_int_not_equal(old.tag, pvf_pool_tag(&b.pool));
	assert_int_equal(b.fake.shares, shares);
	assert_int_equal(pvf_pool_get(&b.pool, 3, &seg), PVF_OK);
	assert_int_equal(b.fake.shares, shares + 1u);
	assert_int_equal(b.fake.last_domid, 6);
	assert_ptr_not_equal(seg.base, old.base);
	memset(old.base, 0xaa, old.length);
	/* Its grants ended with the resume: the old buffer goes without ending any. */
	pvf_pool_put(&b.pool, &old);
	assert_int_equal(b.fake.unshares, 0);
	assert_int_equal(b.fake.shared_pages, b.pool.pages);
	pvf_pool_put(&b.pool, &seg);
	end(&b);
	assert_int_equal(b.fake.unshares, 1);
}

static void a_resume_that_finds_no_grants_never_ends_the_old_ones(void **state)
{
	struct pvf_seg seg;
	struct bench b;

	(void)state;
	begin(&b, 64, 10000);
	assert_int_equal(pvf_pool_get(&b.pool, 3, &seg), PVF_OK);
	pvf_pool_resumed(&b.pool);
	assert_int_equal(pvf_pool_set_peer(&b.pool, 5), PVF_NO_SPACE);
	assert_int_not_equal(seg.tag, pvf_pool_tag(&b.pool));
	pvf_pool_put(&b.pool, &seg);
	end(&b);
	assert_int_equal(b.fake.unshares, 0);
}

static void a_host_that_was_resumed_gets_its_parked_pages_back(void **state)
{
	struct pvf_seg seg;
	struct bench b;

	(void)state;
	begin(&b, 10000, 10000);
	assert_int_equal(pvf_pool_get(&b.pool, 64, &seg), PVF_OK);
	b.fake.busy = true;
	pvf_pool_trim(&b.pool, true);
	pvf_host_resumed(&b.host);
	end(&b);
}

static void without_a_peer_there_is_no_buffer(void **state)
{
	struct pvf_seg seg;
	struct pvf_pool pool;
	struct bench b;

	(void)state;
	begin(&b, 10, 10);
	pvf_pool_init(&pool, &b.host, 10);
	assert_int_equal(pvf_pool_get(&pool, 1, &seg), PVF_CLOSED);
	assert_int_equal(pvf_pool_get(&b.pool, 0, &seg), PVF_INVALID);
	end(&b);
}

static const struct pvf_test tests[] = {
	PVF_TEST(pages_of_a_buffer_follow_each_other_and_belong_to_one_caller, "", "unit",
		 "pages of a buffer follow each other and belong to one caller"),
	PVF_TEST(a_page_given_back_is_used_again_without_a_new_grant, "", "unit",
		 "a page given back is used again without a new grant"),
	PVF_TEST(a_large_buffer_is_one_region_and_is_used_again, "", "unit",
		 "a large buffer is one region and is used again"),
	PVF_TEST(at_the_limit_the_pool_says_so_and_loses_nothing, "", "unit",
		 "at its limit the pool says so and loses nothing"),
	PVF_TEST(another_peer_makes_every_buffer_stale_but_keeps_its_memory, "", "unit",
		 "another peer makes every buffer stale but keeps its memory"),
	PVF_TEST(xsa396_pages_the_peer_holds_are_parked_until_it_lets_go, "", "unit",
		 "XSA-396: pages the peer holds are parked until it lets go"),
	PVF_TEST(after_a_resume_the_references_change_and_the_addresses_stay, "", "unit",
		 "after a resume references change and addresses stay"),
	PVF_TEST(after_a_resume_with_another_peer_nothing_is_granted_to_the_old_one, "", "unit",
		 "after a resume with another peer nothing is granted to the old one, and its buffers are stale"),
	PVF_TEST(a_resume_that_finds_no_grants_never_ends_the_old_ones, "", "unit",
		 "a resume that finds no grants never ends the old ones"),
	PVF_TEST(a_host_that_was_resumed_gets_its_parked_pages_back, "", "unit",
		 "a host that was resumed gets its parked pages back"),
	PVF_TEST(without_a_peer_there_is_no_buffer, "", "unit", "without a peer there is no buffer"),
};

int main(void)
{
	return pvf_run_tests("unit", tests, sizeof(tests) / sizeof(tests[0]));
}
