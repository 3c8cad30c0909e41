/* SPDX-License-Identifier: MIT */
/*
 * The phase table: what to do in each phase, for each intent, on each state of the backend. All of a device's life is
 * here; the steps behind the actions are in xenbus_steps.c. tests/unit/test_table.c walks it as a graph.
 */
#include "device.h"

enum action {
	STAY,
	START,    /* read our directory, find the backend, watch it */
	RESET,    /* write Closed, so that the backend lets go of an earlier life */
	PREPARE,  /* make rings and channels */
	PUBLISH,  /* write our keys and Initialised, in one transaction */
	CONNECT,  /* read the backend's properties, write Connected, carry I/O */
	DRAIN,    /* take nothing new */
	DRAINED,  /* close once nothing is in flight */
	CLOSE,    /* write Closing */
	LEAVE,    /* write Closed, keep the pages until the backend has let go */
	FINISH,   /* write Closed and let go of everything */
	REOPEN,   /* the backend is back at its start: so are we */
	RESTART,  /* the backend fell back under us */
	REWAIT,   /* let go of the old ring and wait again */
	TIMEOUT,  /* give up: the backend was silent */
	VANISHED, /* give up: the backend's directory is gone */
	OFFLINE,  /* give up: the toolstack removes the device */
	REFUSED,  /* give up: the backend closed instead of connecting */
	ACTIONS
};

#define END PVF_PHASES

const struct pvf_action pvf_actions[ACTIONS] = {
	[STAY] = {"stay", NULL, {END}},
	[START] = {"start", pvf_step_start, {PVF_PHASE_WAITING, PVF_PHASE_RESETTING, PVF_PHASE_BROKEN, END}},
	[RESET] = {"reset", pvf_step_reset, {PVF_PHASE_RESETTING, PVF_PHASE_BROKEN, END}},
	[PREPARE] = {"prepare", pvf_step_prepare, {PVF_PHASE_PUBLISHING, PVF_PHASE_BROKEN, END}},
	[PUBLISH] = {"publish", pvf_step_publish, {PVF_PHASE_LINKED, PVF_PHASE_BROKEN, END}},
	[CONNECT] = {"connect", pvf_step_connect, {PVF_PHASE_CONNECTED, PVF_PHASE_BROKEN, END}},
	[DRAIN] = {"drain", pvf_step_drain, {PVF_PHASE_DRAINING, END}},
	[DRAINED] = {"drained", pvf_step_drained, {PVF_PHASE_CLOSING, END}},
	[CLOSE] = {"close", pvf_step_close, {PVF_PHASE_CLOSING, END}},
	[LEAVE] = {"leave", pvf_step_leave, {PVF_PHASE_CLOSING, PVF_PHASE_CLOSED, END}},
	[FINISH] = {"finish", pvf_step_finish, {PVF_PHASE_CLOSED, END}},
	[REOPEN] = {"reopen", pvf_step_reopen, {PVF_PHASE_WAITING, PVF_PHASE_BROKEN, END}},
	[RESTART] = {"restart", pvf_step_restart, {PVF_PHASE_RESTARTING, END}},
	[REWAIT] = {"rewait", pvf_step_rewait, {PVF_PHASE_WAITING, PVF_PHASE_BROKEN, END}},
	[TIMEOUT] = {"timeout", pvf_step_timeout, {PVF_PHASE_BROKEN, END}},
	[VANISHED] = {"vanished", pvf_step_vanished, {PVF_PHASE_BROKEN, END}},
	[OFFLINE] = {"offline", pvf_step_offline, {PVF_PHASE_BROKEN, END}},
	[REFUSED] = {"refused", pvf_step_refused, {PVF_PHASE_BROKEN, END}},
};

#define ALL(x) \
	{ \
		x, x, x, x, x, x, x, x, x, x, x, x \
	}

/*
 * Columns: Unknown (no state key), Initialising, InitWait, Initialised, Connected, Closing, Closed, Reconfiguring,
 * Reconfigured (7 and 8 are Linux netfront's headroom dance; everybody else ignores them), Closed and offline,
 * directory gone, garbage.
 */
static const uint8_t table[PVF_PHASES][PVF_WANTS][PVF_COLUMNS] =
	{
		[PVF_PHASE_IDLE] =
			{
				[PVF_WANT_DOWN] = ALL(STAY),
				[PVF_WANT_UP] = ALL(START),
				[PVF_WANT_RECONNECT] = ALL(START),
			},
		/*
	 * Initialised or Connected before InitWait happens: FreeBSD and minimal backends (FIELD-BUGS 64, FEATURES X04). One at
	 * Closing waits for our Closed: it found an earlier life's keys when we came.
	 */
		[PVF_PHASE_WAITING] =
			{
				[PVF_WANT_DOWN] = ALL(CLOSE),
				[PVF_WANT_UP] = {STAY, STAY, PREPARE, PREPARE, PREPARE, RESET, STAY, STAY, STAY,
						 OFFLINE, VANISHED, STAY},
				[PVF_WANT_RECONNECT] = {STAY, STAY, PREPARE, PREPARE, PREPARE, RESET, STAY, STAY, STAY,
							OFFLINE, VANISHED, STAY},
			},
		[PVF_PHASE_PUBLISHING] =
			{
				[PVF_WANT_DOWN] =
					ALL(CLOSE),
				[PVF_WANT_UP] = {PUBLISH, PUBLISH, PUBLISH, PUBLISH, PUBLISH, RESTART, RESTART, PUBLISH,
						 PUBLISH, OFFLINE, VANISHED, STAY},
				[PVF_WANT_RECONNECT] = {PUBLISH, PUBLISH, PUBLISH, PUBLISH, PUBLISH, RESTART, RESTART,
							PUBLISH, PUBLISH, OFFLINE, VANISHED, STAY},
			},
		/* netback ignores Initialised and stays at InitWait; blkback goes to Closing when our keys displease it. */
		[PVF_PHASE_LINKED] =
			{
				[PVF_WANT_DOWN] = ALL(CLOSE),
				[PVF_WANT_UP] = {STAY, STAY, STAY, STAY, CONNECT, REFUSED, REFUSED, STAY, STAY, OFFLINE,
						 VANISHED, STAY},
				[PVF_WANT_RECONNECT] = {STAY, STAY, STAY, STAY, CONNECT, REFUSED, REFUSED, STAY, STAY,
							OFFLINE, VANISHED, STAY},
			},
		/* Closing is the toolstack's unplug: drain. Closed without Closing, or a fall back to 1-3: the backend is a new one. */
		[PVF_PHASE_CONNECTED] =
			{
				[PVF_WANT_DOWN] = ALL(DRAIN),
				[PVF_WANT_UP] = {RESTART, RESTART, RESTART, RESTART, STAY, DRAIN, RESTART, STAY, STAY,
						 FINISH, VANISHED, STAY},
				[PVF_WANT_RECONNECT] = ALL(DRAIN),
			},
		/* A backend that is not connected any more completes nothing: do not wait for it (FIELD-BUGS 47, 52). */
		[PVF_PHASE_DRAINING] =
			{
				[PVF_WANT_DOWN] = {CLOSE, CLOSE, CLOSE, CLOSE, DRAINED, DRAINED, CLOSE, DRAINED,
						   DRAINED, CLOSE, CLOSE, DRAINED},
				[PVF_WANT_UP] = {CLOSE, CLOSE, CLOSE, CLOSE, DRAINED, DRAINED, CLOSE, DRAINED, DRAINED,
						 CLOSE, CLOSE, DRAINED},
				[PVF_WANT_RECONNECT] = {CLOSE, CLOSE, CLOSE, CLOSE, DRAINED, DRAINED, CLOSE, DRAINED,
							DRAINED, CLOSE, CLOSE, DRAINED},
			},
		/*
	 * At Closing blkback still maps the ring and waits for our Closed; at InitWait or Initialised it may be about to map
	 * it. Pages go back when it is Closed too.
	 */
		[PVF_PHASE_CLOSING] =
			{
				[PVF_WANT_DOWN] = {FINISH, FINISH, LEAVE, LEAVE, STAY, LEAVE, FINISH, STAY, STAY,
						   FINISH, FINISH, STAY},
				[PVF_WANT_UP] = {FINISH, FINISH, LEAVE, LEAVE, STAY, LEAVE, FINISH, STAY, STAY,
						 FINISH, FINISH, STAY},
				[PVF_WANT_RECONNECT] = {FINISH, FINISH, LEAVE, LEAVE, STAY, LEAVE, FINISH, STAY, STAY,
							FINISH, FINISH, STAY},
			},
		/* Comes up again when the backend does, but not while `online` is 0 (FIELD-BUGS 49). */
		[PVF_PHASE_CLOSED] =
			{
				[PVF_WANT_DOWN] = ALL(STAY),
				[PVF_WANT_UP] = {STAY, START, START, STAY, STAY, STAY, STAY, STAY, STAY, STAY, STAY,
						 STAY},
				/* Also when the directory is gone: the toolstack may have named another backend since. */
				[PVF_WANT_RECONNECT] = {START, START, START, START, START, START, START, START, START,
							OFFLINE, START, START},
			},
		[PVF_PHASE_RESETTING] =
			{
				[PVF_WANT_DOWN] = ALL(FINISH),
				[PVF_WANT_UP] = {REOPEN, REOPEN, REOPEN, STAY, STAY, STAY, REOPEN, STAY, STAY, OFFLINE,
						 VANISHED, STAY},
				[PVF_WANT_RECONNECT] = {REOPEN, REOPEN, REOPEN, STAY, STAY, STAY, REOPEN, STAY, STAY,
							OFFLINE, VANISHED, STAY},
			},
		[PVF_PHASE_RESTARTING] =
			{
				[PVF_WANT_DOWN] = ALL(FINISH),
				[PVF_WANT_UP] = {REWAIT,
						 REWAIT, REWAIT, REWAIT, REWAIT, REWAIT, REWAIT, REWAIT, REWAIT, FINISH, VANISHED,
						 REWAIT},
				[PVF_WANT_RECONNECT] =
					{REWAIT,
					 REWAIT, REWAIT, REWAIT, REWAIT, REWAIT, REWAIT, REWAIT, REWAIT, FINISH, VANISHED,
					 REWAIT},
			},
		/* The backend may be another, elsewhere: everything is read anew (FIELD-BUGS 87). */
		[PVF_PHASE_RESUMING] =
			{
				[PVF_WANT_DOWN] = ALL(FINISH),
				[PVF_WANT_UP] = ALL(START),
				[PVF_WANT_RECONNECT] = ALL(START),
			},
		[PVF_PHASE_BROKEN] =
			{
				[PVF_WANT_DOWN] = {FINISH, CLOSE, CLOSE, CLOSE, CLOSE, CLOSE, FINISH, CLOSE, CLOSE,
						   FINISH, FINISH, CLOSE},
				[PVF_WANT_UP] = ALL(STAY),
				[PVF_WANT_RECONNECT] = {FINISH, CLOSE, CLOSE, CLOSE, CLOSE, CLOSE, FINISH, CLOSE, CLOSE,
							FINISH, FINISH, CLOSE},
			},
};

/* What a phase does when its deadline passes; STAY: the phase has none, it is waited in for its own sake. */
static const uint8_t deadlines[PVF_PHASES] = {
	[PVF_PHASE_IDLE] = STAY,          [PVF_PHASE_WAITING] = TIMEOUT,  [PVF_PHASE_PUBLISHING] = TIMEOUT,
	[PVF_PHASE_LINKED] = TIMEOUT,     [PVF_PHASE_CONNECTED] = STAY,   [PVF_PHASE_DRAINING] = CLOSE,
	[PVF_PHASE_CLOSING] = FINISH,     [PVF_PHASE_CLOSED] = STAY,      [PVF_PHASE_RESETTING] = TIMEOUT,
	[PVF_PHASE_RESTARTING] = TIMEOUT, [PVF_PHASE_RESUMING] = TIMEOUT, [PVF_PHASE_BROKEN] = STAY,
};

uint32_t pvf_table_action(enum pvf_phase phase, enum pvf_want want, uint32_t column)
{
	return table[phase][want][column];
}

uint32_t pvf_table_deadline_action(enum pvf_phase phase)
{
	return deadlines[phase];
}
