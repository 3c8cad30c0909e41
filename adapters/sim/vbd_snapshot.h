/* SPDX-License-Identifier: MIT */
/*
 * Counters that one thread writes and any other reads whole: an odd sequence means that the writer is at work. Neither side
 * ever waits for a lock, so that a test that looks at the counters does not disturb what it measures.
 */
#ifndef PVFRONT_SIM_VBD_SNAPSHOT_H
#define PVFRONT_SIM_VBD_SNAPSHOT_H

#include <pvfront/compiler.h>

#include "bytes.h"

#define VBD_SNAPSHOT_WORDS 36u

struct vbd_snapshot {
	volatile uint32_t sequence;
	volatile uint32_t words[VBD_SNAPSHOT_WORDS];
};

/* `bytes` is a multiple of 4, at most VBD_SNAPSHOT_WORDS words. */
static inline void vbd_snapshot_publish(struct vbd_snapshot *snapshot, const void *source, uint32_t bytes)
{
	uint32_t sequence = pvf_load32(&snapshot->sequence);
	const uint8_t *from = source;

	pvf_store32(&snapshot->sequence, sequence + 1);
	pvf_mb();
	for (uint32_t i = 0; i < bytes / 4; i++) {
		uint32_t word;

		memcpy(&word, from + 4 * i, sizeof(word));
		pvf_store32(&snapshot->words[i], word);
	}
	pvf_store32_release(&snapshot->sequence, sequence + 2);
}

static inline void vbd_snapshot_read(const struct vbd_snapshot *snapshot, void *target, uint32_t bytes)
{
	uint32_t words[VBD_SNAPSHOT_WORDS];
	uint32_t sequence;

	do {
		sequence = pvf_load32_acquire(&snapshot->sequence);
		for (uint32_t i = 0; i < bytes / 4; i++)
			words[i] = pvf_load32(&snapshot->words[i]);
		pvf_mb();
	} while ((sequence & 1u) || pvf_load32(&snapshot->sequence) != sequence);
	memcpy(target, words, bytes);
}

#endif
