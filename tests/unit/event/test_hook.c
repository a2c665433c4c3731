/* What the C hook writes is what the parser reads: the real header, a file in place of the FIFO. */
#include "infrarsi_hook.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "event/receipt.h"

static void report_a_job(void)
{
	struct infrarsi hook;
	const uint64_t shape[] = {8, 4};
	const int32_t row[] = {1, 2, 3};
	assert_int_equal(infrarsi_open(&hook), 0);
	assert_int_equal(infrarsi_param(&hook, "w", shape, 2, "fp32"), 0);
	struct infrarsi_start_info start = {.layers = 2,
		.d_attn = 16,
		.seq_len = 3,
		.global_batch = 1,
		.storage = "fp32",
		.compute = "bf16"};
	assert_int_equal(infrarsi_start(&hook, &start), 0);
	for (int i = 1; i <= 2; i++) {
		infrarsi_row(&hook, row, 3);
		struct infrarsi_update_info update = {.loss = i == 1 ? 2.5 : 0.1 * 3,
			.grad_norm = 0.8,
			.lr = 3e-4,
			.opt_step = (uint64_t)i,
			.tokens = 3,
			.step_s = i == 1 ? 0 : 0.25,
			.mem = 1 << 20};
		assert_int_equal(infrarsi_update(&hook, &update), 0);
		struct infrarsi_phase_info phase = {0.1, 0.2, 0.01, 0, 0};
		assert_int_equal(infrarsi_phase(&hook, &phase), 0);
	}
	assert_int_equal(infrarsi_oom(&hook, 300, 100, 400), 0);
	assert_int_equal(infrarsi_end(&hook), 0);
}

static void feed_lines(struct receipt *r, const struct strbuf *text)
{
	struct receipt_builder *b = receipt_builder_new(r, "secret", 0);
	double at_s = 1;
	for (const char *p = text->buf; *p; at_s++) {
		size_t length = strcspn(p, "\n");
		receipt_builder_line(b, p, length, at_s);
		p += length + (p[length] == '\n');
	}
	receipt_builder_finish(b, at_s);
}

static void hook_and_parser_agree(void **state)
{
	(void)state;
	char path[] = "/tmp/infrarsi-hook-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	setenv("INFRARSI_EVENT_PATH", path, 1);
	setenv("INFRARSI_NONCE", "secret", 1);
	setenv("INFRARSI_PROFILE", "1", 1);
	report_a_job();
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	struct err err = ERR_INIT;
	assert_int_equal(file_read(path, FILE_CAP_DEFAULT, &text, &err), OK);
	unlink(path);
	struct receipt r;
	receipt_init(&r);
	feed_lines(&r, &text);
	assert_int_equal(r.bad_event_lines, 0);
	assert_true(r.nonce_echoed && r.end_seen);
	assert_int_equal(r.n_updates, 2);
	assert_true(r.updates[1].loss.value == 0.1 * 3); /* to the last bit */
	assert_false(r.updates[0].step_s.has);
	assert_true(r.params.value == 32 && r.phase_s[PHASE_BACKWARD].value == 0.2);
	/* SHA-256 of 01000000 02000000 03000000, last 16 bytes (Python's hashlib). */
	assert_string_equal(r.updates[0].data, "d018580d52661950eabc3845c5897a4d");
	/* SHA-256 of "w 8x4 fp32\n" (Python's hashlib). */
	assert_string_equal(
		r.model_digest, "aa5714701be4b7927f5ab45e3191fd3e8163eb1c8aae2cf464832270cf11f5d9");
	assert_int_equal(r.failure, FAILURE_OOM);
	receipt_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hook_and_parser_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
