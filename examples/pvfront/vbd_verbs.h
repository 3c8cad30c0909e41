/* SPDX-License-Identifier: MIT */
/* The verbs' functions: see struct verb for what each does. */
#ifndef VBD_VERBS_H
#define VBD_VERBS_H

#include <stdbool.h>

struct failure;
struct json;
struct options;
struct session;

bool vbd_info_run(struct session *session);
void vbd_info_print(const struct session *session);

bool vbd_read_check(const struct options *options, struct failure *failure);
bool vbd_read_run(struct session *session);
void vbd_read_print(const struct session *session);
void vbd_read_json(const struct session *session, struct json *json);

bool vbd_write_check(const struct options *options, struct failure *failure);
bool vbd_write_run(struct session *session);
void vbd_write_print(const struct session *session);
void vbd_write_json(const struct session *session, struct json *json);

bool vbd_verify_run(struct session *session);
void vbd_verify_print(const struct session *session);
void vbd_verify_json(const struct session *session, struct json *json);

bool vbd_copy_check(const struct options *options, struct failure *failure);
bool vbd_copy_run(struct session *session);
void vbd_copy_print(const struct session *session);
void vbd_copy_json(const struct session *session, struct json *json);

bool vbd_bench_check(const struct options *options, struct failure *failure);
bool vbd_bench_run(struct session *session);
void vbd_bench_print(const struct session *session);
void vbd_bench_json(const struct session *session, struct json *json);

bool vbd_flush_run(struct session *session);
void vbd_flush_print(const struct session *session);

#endif
