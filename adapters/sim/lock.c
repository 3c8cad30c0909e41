/* SPDX-License-Identifier: MIT */
#include "lock.h"

#include <pvfront/compiler.h>

bool sim_trylock(struct sim_mutex *mutex)
{
	return pvf_cas32(&mutex->word, 0, 1);
}

bool sim_lock_until(const struct pvf_sim_platform *os, struct sim_mutex *mutex, uint64_t deadline)
{
	if (sim_trylock(mutex))
		return true;

	/* Whoever has slept takes it as "somebody sleeps": others may still. */
	for (;;) {
		uint32_t word = pvf_load32(&mutex->word);

		if (word == 0) {
			if (pvf_cas32(&mutex->word, 0, 2))
				return true;
		} else if (word == 2 || pvf_cas32(&mutex->word, 1, 2)) {
			if (os->wait(os->ctx, &mutex->word, 2, deadline) == PVF_TIMEOUT)
				return false;
		}
	}
}

void sim_lock(const struct pvf_sim_platform *os, struct sim_mutex *mutex)
{
	(void)sim_lock_until(os, mutex, PVF_FOREVER);
}

void sim_unlock(const struct pvf_sim_platform *os, struct sim_mutex *mutex)
{
	if (pvf_add32(&mutex->word, 0xffffffffu) != 1) {
		pvf_store32_release(&mutex->word, 0);
		os->wake(os->ctx, &mutex->word);
	}
}

uint32_t sim_bell_listen(const struct sim_bell *bell)
{
	return pvf_load32_acquire(&bell->word);
}

int sim_bell_sleep(const struct pvf_sim_platform *os, struct sim_bell *bell, uint32_t heard, uint64_t deadline)
{
	for (;;) {
		uint32_t word = pvf_load32_acquire(&bell->word);

		if ((word | 1u) != (heard | 1u))
			return PVF_OK;
		if ((word & 1u) || pvf_cas32(&bell->word, word, word | 1u))
			return os->wait(os->ctx, &bell->word, word | 1u, deadline);
	}
}

void sim_bell_ring(const struct pvf_sim_platform *os, struct sim_bell *bell)
{
	uint32_t word;

	do {
		word = pvf_load32(&bell->word);
	} while (!pvf_cas32(&bell->word, word, (word + 2u) & ~1u));

	if (word & 1u)
		os->wake(os->ctx, &bell->word);
}

bool sim_gate_enter(const struct pvf_sim_platform *os, struct sim_gate *gate)
{
	if (PVF_LIKELY(!(pvf_add32(&gate->word, 1) & SIM_GATE_SHUT)))
		return true;
	sim_gate_leave(os, gate);
	return false;
}

void sim_gate_leave(const struct pvf_sim_platform *os, struct sim_gate *gate)
{
	if (PVF_UNLIKELY(pvf_add32(&gate->word, 0xffffffffu) == (SIM_GATE_SHUT | 1u)) && os->wake)
		os->wake(os->ctx, &gate->word);
}

void sim_gate_shut(const struct pvf_sim_platform *os, struct sim_gate *gate)
{
	uint32_t word = pvf_load32(&gate->word);

	if (!(word & SIM_GATE_SHUT))
		(void)pvf_add32(&gate->word, SIM_GATE_SHUT);

	while ((word = pvf_load32_acquire(&gate->word)) != SIM_GATE_SHUT)
		(void)os->wait(os->ctx, &gate->word, word, PVF_FOREVER);
}

void sim_gate_open(struct sim_gate *gate)
{
	/* Those who found it shut may be on their way out, so the bit is taken away rather than a 0 written. */
	(void)pvf_add32(&gate->word, SIM_GATE_SHUT);
}
