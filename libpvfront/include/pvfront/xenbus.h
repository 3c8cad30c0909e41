/* SPDX-License-Identifier: MIT */
/*
 * What every frontend shares: its phases, what its owner wants of it, and the trace of its handshake.
 */
#ifndef PVFRONT_XENBUS_H
#define PVFRONT_XENBUS_H

#include <pvfront/host.h>
#include <pvfront/status.h>
#include <pvfront/wire/xenbus.h>

enum pvf_phase {
	PVF_PHASE_IDLE,       /* opened; nothing said to the backend */
	PVF_PHASE_WAITING,    /* Initialising; waits for the backend to offer (InitWait) */
	PVF_PHASE_PUBLISHING, /* writes its keys */
	PVF_PHASE_LINKED,     /* Initialised; waits for the backend to connect */
	PVF_PHASE_CONNECTED,  /* carries I/O */
	PVF_PHASE_DRAINING,   /* takes nothing new; waits for what is in flight */
	PVF_PHASE_CLOSING,    /* Closing; waits for the backend to let go */
	PVF_PHASE_CLOSED,     /* everything is released */
	PVF_PHASE_RESETTING,  /* leads a backend back that a dead frontend, or an earlier life, left connected */
	PVF_PHASE_RESTARTING, /* the backend restarted, or reconnect was asked: lets go of the old ring, then waits again */
	PVF_PHASE_RESUMING, /* after a resume: grants, ports and watches are forgotten; then waits again */
	PVF_PHASE_BROKEN,   /* gave up: pvf_..._error says why; can be closed or reconnected */
	PVF_PHASES
};

enum pvf_want {
	PVF_WANT_DOWN,
	PVF_WANT_UP,
	PVF_WANT_RECONNECT, /* close, then up again; becomes UP by itself */
	PVF_WANTS
};

/* "waiting" and so on; the state's name as in xenbus.h ("InitWait"). Never NULL. Context: any. */
const char *pvf_phase_name(enum pvf_phase phase);
const char *pvf_state_name(uint32_t state);

enum pvf_trace_kind {
	PVF_TRACE_PHASE, /* phase changed; `text` says why */
	PVF_TRACE_STATE, /* our state was written (frontend_state) */
	PVF_TRACE_PEER,  /* the backend's state was seen to change (backend_state) */
	PVF_TRACE_READ,  /* key `name` was read: value, length, status */
	PVF_TRACE_WRITE,
	PVF_TRACE_REMOVE,
};

struct pvf_trace {
	enum pvf_trace_kind kind;
	enum pvf_phase from, phase;
	uint32_t frontend_state, backend_state;
	const char *name;  /* full path */
	const char *value; /* not NUL-terminated */
	uint32_t length;
	int32_t status;
	const char *text;
};

/* Context: thread, inside advance; must not call back into the device. */
typedef void pvf_trace_fn(void *ctx, const struct pvf_trace *trace);

#endif
