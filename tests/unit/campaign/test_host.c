/* What the harness itself sees of an execution: frozen files, memory, the disk. */
#include "base/base.h"

#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "campaign/frozen.h"
#include "campaign/host.h"

static const char content[] = "frozen\n";

static void shell(const char *dir, const char *command)
{
	CLEANUP(strbuf_release) struct strbuf output = STRBUF_INIT;
	const char *argv[] = {"sh", "-ec", command, NULL};
	struct process_run run = {.argv = argv, .dir = dir};
	int status = -1;
	assert_int_equal(process_run(&run, &output, NULL, &status, NULL), OK);
	if (status != 0)
		fail_msg("%s: %s", command, output.buf);
}

/* The folder of each case: sub/a, link -> sub/a, both frozen. */
static const struct {
	const char *what, *before, *during; /* commands: of the build, of the job */
	const char *changed;                /* the first file whose hashes differ; NULL = none */
	const char *touched;                /* what the review says; NULL = no review */
} cases[] = {
	{"nothing", "", "", NULL, NULL}, {"read", "", "cat sub/a link >/dev/null", NULL, NULL},
	{"beside it", "", "echo x >sub/new; rm sub/new", NULL, NULL},
	{"changed", "", "echo other! >sub/a", "sub/a", NULL},
	{"through the link", "", "echo other! >link", "sub/a", NULL},
	{"removed", "", "rm sub/a", "sub/a", NULL},
	{"a folder in its place", "", "rm sub/a; mkdir sub/a", "sub/a", NULL},
	{"a pipe in its place", "", "rm sub/a; mkfifo sub/a", "sub/a", NULL},
	{"the build changed it", "echo other! >sub/a", "", "sub/a", NULL},
	{"the build changed it, the job put it back", "echo other! >sub/a", "echo frozen >sub/a", "sub/a",
		NULL},
	{"changed and restored, mtime too", "",
		"cp -p sub/a k; echo other! >sub/a; cat k >sub/a; touch -r k sub/a", NULL, "put back"},
	{"moved away and back", "", "mv sub/a k; mv k sub/a", NULL, "put back"},
	{"deleted and made again", "", "cp -p sub/a k; rm sub/a; mv k sub/a", NULL, "replaced"},
	{"a link to the same bytes", "", "mv sub/a k; ln -s ../k sub/a", NULL, "and 1 more"},
	{"a hard link to it", "", "ln sub/a k", NULL, "put back"},
	{"another mode", "", "chmod 600 sub/a", NULL, "put back"},
	{"the link made anew", "", "ln -s sub/a k; mv k link", NULL, "replaced"},
	{"the folder renamed, another in its place", "", "mv sub k; mkdir sub; echo frozen >sub/a", NULL,
		"replaced"},
	{"the folder renamed and named back", "", "mv sub k; mv k sub", NULL, NULL}, /* leaves no trace */
};

static void frozen_files_tell_what_was_done_to_them(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char dir[] = "/tmp/infrarsi-frozen-XXXXXX";
		struct frozen_file files[2] = {{.path = "link"}, {.path = "sub/a"}};
		struct lock lock = {.files = files, .n_files = 2};
		struct frozen_watch watch;
		struct receipt r;
		const char *changed = NULL;
		assert_non_null(mkdtemp(dir));
		shell(dir, "mkdir sub; echo frozen >sub/a; ln -s sub/a link");
		for (int k = 0; k < 2; k++)
			sha256_hex(content, strlen(content), files[k].digest);
		shell(dir, cases[i].before);
		receipt_init(&r);
		frozen_watch_begin(&watch, &lock, dir);
		shell(dir, cases[i].during);
		frozen_watch_end(&watch, dir, &r);
		assert_int_equal(r.n_files, 2);
		for (size_t k = 0; k < r.n_files; k++) {
			assert_string_equal(r.files[k].before, files[k].digest);
			if (strcmp(r.files[k].after, r.files[k].before) != 0)
				changed = r.files[k].path;
		}
		if ((changed != NULL) != (cases[i].changed != NULL) ||
			(changed && strcmp(changed, cases[i].changed) != 0))
			fail_msg("%s: changed %s", cases[i].what, changed ? changed : "nothing");
		if ((*watch.touched != '\0') != (cases[i].touched != NULL) ||
			(cases[i].touched && !strstr(watch.touched, cases[i].touched)))
			fail_msg("%s: '%s'", cases[i].what, watch.touched);
		frozen_watch_release(&watch);
		receipt_release(&r);
		assert_int_equal(remove_tree(dir, NULL), OK);
	}
}

static bool has_accelerator(void)
{
	glob_t found;
	bool any = glob("/dev/nvidia[0-9]*", 0, NULL, &found) == 0 || path_exists("/dev/kfd");
	globfree(&found);
	return any;
}

/* The references decide whether there is a device beside the host, not the candidate. */
static void the_device_is_the_host_where_no_reference_reports_memory(void **unused)
{
	(void)unused;
	static const struct {
		size_t n_refs;
		bool references, own;
		bool expected;
	} table[] = {
		{0, false, false, true}, {0, false, true, false}, {2, false, false, true},
		{2, false, true, true},                          /* a candidate that begins to report */
		{2, true, true, false}, {2, true, false, false}, /* one that no longer does fails elsewhere */
	};
	if (has_accelerator())
		skip();
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct receipt r = {.peak_reported_bytes = {table[i].own, 1}};
		struct receipt silent = {.peak_reported_bytes = {false, NAN}};
		struct receipt telling = {.peak_reported_bytes = {table[i].references, 1}};
		const struct receipt *valid[] = {&silent, &telling};
		struct reference_set refs = {.valid = valid, .n = table[i].n_refs};
		assert_int_equal(device_is_host(&refs, &r), table[i].expected);
	}
}

static void who_filled_the_disk(void **unused)
{
	(void)unused;
	char dir[] = "/tmp/infrarsi-disk-XXXXXX";
	assert_non_null(mkdtemp(dir));
	shell(dir, "mkdir build trial; head -c 1048576 /dev/urandom >trial/big");
	CLEANUP(free_ptr) char *build = xasprintf("%s/build", dir);
	CLEANUP(free_ptr) char *trial = xasprintf("%s/trial", dir);
	static const struct {
		double lost, regained;
		bool own;
	} table[] = {
		{2e6, 0, true},     /* its folder grew by 1 MiB: more than half */
		{2e9, 0, false},    /* others took the rest */
		{2e9, 1.5e9, true}, /* files that were deleted while they were open */
		{2e9, 0.5e9, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct run_outcome o = {
			.disk_lost_bytes = table[i].lost, .disk_regained_bytes = table[i].regained};
		assert_int_equal(job_filled_disk(&o, build, trial), table[i].own);
	}
	assert_int_equal(remove_tree(dir, NULL), OK);
}

static void a_review_of_the_harness_joins_the_others(void **unused)
{
	(void)unused;
	struct verdict v;
	memset(&v, 0, sizeof(v));
	verdict_add_review(&v, "");
	assert_int_equal(v.n_reviews, 0);
	for (int i = 0; i < MAX_REVIEWS + 3; i++)
		verdict_add_review(&v, "frozen-files: look");
	assert_int_equal(v.n_reviews, MAX_REVIEWS);
	struct execution reference = {.verdict = v};
	struct state s = {.references = &reference, .n_references = 1};
	assert_true(reference_is_touched(&s));
	strcpy(reference.verdict.reviews[0], "loss: equal");
	reference.verdict.n_reviews = 1;
	assert_false(reference_is_touched(&s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frozen_files_tell_what_was_done_to_them),
		cmocka_unit_test(the_device_is_the_host_where_no_reference_reports_memory),
		cmocka_unit_test(who_filled_the_disk),
		cmocka_unit_test(a_review_of_the_harness_joins_the_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
