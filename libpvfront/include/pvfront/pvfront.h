/* SPDX-License-Identifier: MIT */
#ifndef PVFRONT_PVFRONT_H
#define PVFRONT_PVFRONT_H

#include <pvfront/grant.h>
#include <pvfront/host.h>
#include <pvfront/ring.h>
#include <pvfront/status.h>
#include <pvfront/vbd.h>
#include <pvfront/xenbus.h>
#include <pvfront/xs.h>

#endif
