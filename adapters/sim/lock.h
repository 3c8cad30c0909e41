/* SPDX-License-Identifier: MIT */
/*
 * Three small things on one word each, over the platform's wait and wake: a mutex, a bell that people sleep on, and a
 * gate that can be shut behind the last one inside. With one thread (stepped mode) none of them ever sleeps.
 */
#ifndef PVFRONT_SIM_LOCK_H
#define PVFRONT_SIM_LOCK_H

#include <pvfront/sim.h>

struct sim_mutex {
	volatile uint32_t word; /* 0 free, 1 held, 2 held and somebody sleeps */
};

void sim_lock(const struct pvf_sim_platform *os, struct sim_mutex *mutex);
bool sim_trylock(struct sim_mutex *mutex);
/* False when the deadline passed first. */
bool sim_lock_until(const struct pvf_sim_platform *os, struct sim_mutex *mutex, uint64_t deadline);
void sim_unlock(const struct pvf_sim_platform *os, struct sim_mutex *mutex);

/*
 * A count in the upper bits, "somebody sleeps" in bit 0. One word, so that the sleeper and the one who rings need no
 * barrier between two: a ring between listen and sleep changes the word that the sleep compares.
 */
struct sim_bell {
	volatile uint32_t word;
};

/* To be taken BEFORE looking for work. */
uint32_t sim_bell_listen(const struct sim_bell *bell);
/* PVF_OK: it rang since `heard`, or woke early; PVF_TIMEOUT; PVF_AGAIN: a signal. */
int sim_bell_sleep(const struct pvf_sim_platform *os, struct sim_bell *bell, uint32_t heard, uint64_t deadline);
void sim_bell_ring(const struct pvf_sim_platform *os, struct sim_bell *bell);

#define SIM_GATE_SHUT 0x80000000u

/* How many are inside, and whether anybody may enter: one word, hence one order of all that happens to it. */
struct sim_gate {
	volatile uint32_t word;
};

bool sim_gate_enter(const struct pvf_sim_platform *os, struct sim_gate *gate);
void sim_gate_leave(const struct pvf_sim_platform *os, struct sim_gate *gate);
/* On return nobody is inside and nobody enters. A gate that is shut already stays so. One caller at a time. */
void sim_gate_shut(const struct pvf_sim_platform *os, struct sim_gate *gate);
void sim_gate_open(struct sim_gate *gate);

#endif
