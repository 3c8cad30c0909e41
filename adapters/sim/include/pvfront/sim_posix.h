/* SPDX-License-Identifier: MIT */
/* The simulated Xen on POSIX threads and files. */
#ifndef PVFRONT_SIM_POSIX_H
#define PVFRONT_SIM_POSIX_H

#include <pvfront/sim.h>

/* Threads, futexes, clock. Stepped: the same without threads. */
const struct pvf_sim_platform *pvf_sim_posix_platform(void);

/*
 * A disk over a file or block device, opened read-only when asked or when it cannot be written (then *disk says so).
 * Refuses what is missing, a directory, empty, or no multiple of 512 bytes; `why` (may be NULL) receives a sentence that
 * names the file and what to do.
 */
int pvf_sim_posix_disk(const char *path, bool read_only, struct pvf_sim_disk *disk, char *why, size_t capacity);

/* A disk in memory, zeroed. */
int pvf_sim_posix_ramdisk(uint64_t bytes, struct pvf_sim_disk *disk);

/* All in one: a machine with one vbd over `image`, frontend in domain 1, backend in domain 0. */
struct pvf_sim_setup {
	const char *image;
	bool read_only;
	struct pvf_sim_options sim;     /* platform may be NULL */
	struct pvf_sim_vbd_options vbd; /* disk is filled in */
};

struct pvf_sim_machine {
	struct pvf_sim *sim;
	struct pvf_sim_domain *guest;
	struct pvf_sim_vbd *vbd;
	struct pvf_sim_disk disk;
};

int pvf_sim_open(const struct pvf_sim_setup *setup, struct pvf_sim_machine *machine, char *why, size_t capacity);
void pvf_sim_close(struct pvf_sim_machine *machine);
static inline const struct pvf_host *pvf_sim_host(const struct pvf_sim_machine *machine)
{
	return pvf_sim_domain_host(machine->guest);
}

#endif
