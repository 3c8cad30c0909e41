/* SPDX-License-Identifier: MIT */
/* Events, the host table's check, and the loop that serves hosts with one store call at a time. */
#include <string.h>

#include <pvfront/host.h>
#include <pvfront/status.h>

#include "check.h"

/* A store that answers from a script and writes down what it was asked. */
struct script {
	char log[128];
	int read_status, write_status, remove_status, start_status, end_status;
};

static void note(struct script *script, char what)
{
	size_t n = strlen(script->log);

	script->log[n] = what;
}

static int script_read(void *ctx, uint32_t tx, const char *path, void *value, uint32_t capacity, uint32_t *length)
{
	struct script *script = ctx;

	(void)path, (void)value, (void)capacity;
	note(script, tx ? 'R' : 'r');
	*length = 0;
	return script->read_status;
}

static int script_write(void *ctx, uint32_t tx, const char *path, const void *value, uint32_t length)
{
	struct script *script = ctx;

	(void)path, (void)value, (void)length;
	note(script, tx ? 'W' : 'w');
	return script->write_status;
}

static int script_remove(void *ctx, uint32_t tx, const char *path)
{
	struct script *script = ctx;

	(void)path;
	note(script, tx ? 'D' : 'd');
	return script->remove_status;
}

static int script_start(void *ctx, uint32_t *tx)
{
	struct script *script = ctx;

	note(script, '(');
	*tx = 9;
	return script->start_status;
}

static int script_end(void *ctx, uint32_t tx, bool commit)
{
	struct script *script = ctx;

	assert_int_equal(tx, 9);
	note(script, commit ? ')' : '!');
	return commit ? script->end_status : PVF_OK;
}

static const struct pvf_store_calls calls = {
	.read = script_read,
	.list = script_read,
	.write = script_write,
	.remove = script_remove,
	.transaction_start = script_start,
	.transaction_end = script_end,
};

static int run(struct script *script, uint32_t flags, struct pvf_store_op ops[4])
{
	memset(ops, 0, 4 * sizeof(ops[0]));
	ops[0].verb = PVF_STORE_READ;
	ops[1].verb = PVF_STORE_WRITE;
	ops[2].verb = PVF_STORE_REMOVE;
	ops[3].verb = PVF_STORE_LIST;
	return pvf_store_each(&calls, script, ops, 4, flags);
}

static void a_batch_goes_in_order_inside_one_transaction(void **state)
{
	struct script script = {{0}, 0, 0, 0, 0, 0};
	struct pvf_store_op ops[4];

	(void)state;
	assert_int_equal(run(&script, PVF_STORE_TRANSACTION, ops), PVF_OK);
	assert_string_equal(script.log, "(RWDR)");
	memset(&script, 0, sizeof(script));
	assert_int_equal(run(&script, 0, ops), PVF_OK);
	assert_string_equal(script.log, "rwdr");
}

static void a_failed_write_undoes_the_transaction(void **state)
{
	struct script script = {{0}, 0, PVF_STORE_QUOTA, 0, 0, 0};
	struct pvf_store_op ops[4];

	(void)state;
	assert_int_equal(run(&script, PVF_STORE_TRANSACTION, ops), PVF_STORE_QUOTA);
	assert_string_equal(script.log, "(RW!");
	assert_int_equal(ops[2].status, PVF_CLOSED);
}

static void without_a_transaction_the_rest_is_still_done(void **state)
{
	struct script script = {{0}, 0, PVF_STORE_DENIED, 0, 0, 0};
	struct pvf_store_op ops[4];

	(void)state;
	assert_int_equal(run(&script, 0, ops), PVF_STORE_DENIED);
	assert_string_equal(script.log, "rwdr");
}

static void a_missing_key_is_no_failure_of_the_batch(void **state)
{
	struct script script = {{0}, PVF_STORE_NOT_FOUND, 0, PVF_STORE_NOT_FOUND, 0, 0};
	struct pvf_store_op ops[4];

	(void)state;
	assert_int_equal(run(&script, PVF_STORE_TRANSACTION, ops), PVF_OK);
	assert_int_equal(ops[0].status, PVF_STORE_NOT_FOUND);
	assert_int_equal(ops[2].status, PVF_OK);
}

static void a_conflict_at_the_end_is_passed_on(void **state)
{
	struct script script = {{0}, 0, 0, 0, 0, PVF_STORE_CONFLICT};
	struct pvf_store_op ops[4];

	(void)state;
	assert_int_equal(run(&script, PVF_STORE_TRANSACTION, ops), PVF_STORE_CONFLICT);
	script.start_status = PVF_STORE_QUOTA;
	assert_int_equal(run(&script, PVF_STORE_TRANSACTION, ops), PVF_STORE_QUOTA);
}

static void an_event_marks_those_that_wait_with_it_and_no_others(void **state)
{
	struct pvf_event second = {.sequence = 5}, first = {.sequence = UINT32_MAX, .next = &second},
			 device = {.waiters = &first};

	(void)state;
	pvf_event(&device);
	assert_int_equal(pvf_event_sequence(&device), 1);
	assert_int_equal(pvf_event_sequence(&first), 0);
	assert_int_equal(pvf_event_sequence(&second), 6);
	pvf_event(&first);
	assert_int_equal(pvf_event_sequence(&device), 1);
	assert_int_equal(pvf_event_sequence(&second), 6);
}

static void a_table_without_a_needed_function_is_refused(void **state)
{
	struct pvf_host_ops ops;
	struct pvf_parking parking = {0};
	struct pvf_host host = {.ops = &ops, .parking = &parking};

	(void)state;
	memset(&ops, 0, sizeof(ops));
	ops.size = sizeof(ops);
	assert_int_equal(pvf_host_check(&host), PVF_INVALID);
	assert_int_equal(pvf_host_check(NULL), PVF_INVALID);
}

static const struct pvf_test tests[] = {
	PVF_TEST(a_batch_goes_in_order_inside_one_transaction, "X01", "unit",
		 "a batch goes in order inside one transaction"),
	PVF_TEST(a_failed_write_undoes_the_transaction, "X01 X08", "unit", "a failed write undoes the transaction"),
	PVF_TEST(without_a_transaction_the_rest_is_still_done, "X01", "unit",
		 "without a transaction the rest of a batch is still done"),
	PVF_TEST(a_missing_key_is_no_failure_of_the_batch, "X06", "unit",
		 "a key that is not there is no failure of the batch"),
	PVF_TEST(a_conflict_at_the_end_is_passed_on, "X01", "unit", "a conflict at the transaction's end is passed on"),
	PVF_TEST(an_event_marks_those_that_wait_with_it_and_no_others, "", "unit",
		 "an event marks those that wait with it and no others"),
	PVF_TEST(a_table_without_a_needed_function_is_refused, "", "unit",
		 "a host table without a needed function is refused"),
};

int main(void)
{
	return pvf_run_tests("unit", tests, sizeof(tests) / sizeof(tests[0]));
}
