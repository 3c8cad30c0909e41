/* SPDX-License-Identifier: MIT */
#ifndef VBD_NAME_H
#define VBD_NAME_H

#include <stdint.h>

#define VBD_NAME_TEXT 24

/* "xvda", "xvdb3", "hdc", … for a virtual device number; "" for a number that has no name. Returns `text`. */
char *vbd_name(char text[VBD_NAME_TEXT], uint32_t virtual_device);

#endif
