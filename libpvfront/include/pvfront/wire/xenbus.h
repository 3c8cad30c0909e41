/* SPDX-License-Identifier: MIT */
/* The states of a split device's two halves (Xen: io/xenbus.h), under their names there. */
#ifndef PVFRONT_WIRE_XENBUS_H
#define PVFRONT_WIRE_XENBUS_H

enum pvf_wire_xenbus_state {
	PVF_STATE_UNKNOWN = 0,
	PVF_STATE_INITIALISING = 1,
	PVF_STATE_INIT_WAIT = 2,
	PVF_STATE_INITIALISED = 3,
	PVF_STATE_CONNECTED = 4,
	PVF_STATE_CLOSING = 5,
	PVF_STATE_CLOSED = 6,
	PVF_STATE_RECONFIGURING = 7,
	PVF_STATE_RECONFIGURED = 8,
};

#define PVF_STATES 9u

#endif
