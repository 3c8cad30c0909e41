/* SPDX-License-Identifier: MIT */
/* Recognises what must not be overwritten by a test: file systems, partition tables, volumes, image formats. */
#ifndef SIGNATURE_H
#define SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

/* How much of a device's beginning signature_find wants to see. */
#define SIGNATURE_BYTES 131072u

/* The name of what is in a device's first bytes ("an ext2/3/4 file system"), NULL: nothing known. */
const char *signature_find(const uint8_t *data, size_t length);

/* The same for the device's last logical sector: a GPT keeps its second header there (UEFI 2.10, 5.3.2). */
const char *signature_find_last(const uint8_t *sector, size_t length);

#endif
