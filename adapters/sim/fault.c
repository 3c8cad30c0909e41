/* SPDX-License-Identifier: MIT */
/* Faults of the machine: words that run down to nothing. */
#include "machine.h"

bool sim_fault_take(volatile uint32_t *word)
{
	uint32_t left = pvf_load32(word);

	while (left) {
		if (pvf_cas32(word, left, left - 1))
			return true;
		left = pvf_load32(word);
	}
	return false;
}

bool sim_fault_call(struct pvf_sim_domain *domain)
{
	uint32_t number = pvf_add32(&domain->calls, 1) + 1;

	return PVF_UNLIKELY(pvf_load32(&domain->faults.fail_at) == number);
}

void pvf_sim_domain_faults(struct pvf_sim_domain *domain, const struct pvf_sim_faults *faults)
{
	struct sim_fault_words *words = &domain->faults;
	bool spoke = !faults->store_silent;

	pvf_store32(&words->fail_at, faults->fail_call ? pvf_load32(&domain->calls) + faults->fail_call : 0);
	pvf_store32(&words->conflicts, faults->conflicts);
	pvf_store32(&words->lose_events, faults->lose_events);
	pvf_store32(&words->double_events, faults->double_events);
	pvf_store32(&words->late_events, domain->sim->stepped ? faults->late_events : 0);
	pvf_store32(&words->spurious_watches, faults->spurious_watches);
	pvf_store32_release(&words->store_silent, faults->store_silent);
	if (spoke)
		sim_domain_wake(domain->sim->store_domain);
}

uint32_t pvf_sim_domain_calls(struct pvf_sim_domain *domain)
{
	return pvf_load32(&domain->calls);
}
