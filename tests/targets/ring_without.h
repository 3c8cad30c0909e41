/* SPDX-License-Identifier: MIT */
/*
 * The ring's accessors with one site's ordering left out: compiled with -DWITHOUT_<site>=~,1. What the site was worth
 * is the difference in the disassembly; a site that was worth nothing has no barrier.
 */
#define CHOSEN_SECOND(a, b, ...) b
#define CHOSEN(word) CHOSEN_SECOND(word, 0, 0)

#define PVF_RING_LOAD(site, word) (CHOSEN(WITHOUT_##site) ? pvf_load32(word) : pvf_load32_acquire(word))
#define PVF_RING_STORE(site, word, value) \
	(CHOSEN(WITHOUT_##site) ? pvf_store32(word, value) : pvf_store32_release(word, value))
#define PVF_RING_FENCE(site) (CHOSEN(WITHOUT_##site) ? pvf_barrier() : pvf_mb())
#define PVF_RING_FILL(word, value) pvf_store64(word, value)
#define PVF_RING_COPY(word) pvf_load64(word)
