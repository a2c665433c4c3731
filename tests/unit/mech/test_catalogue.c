/* The catalogue as it is shipped, and what is wrong with others. Expected figures were read off
 * data/mechanisms.yaml and combined by hand. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/memory.h"
#include "mech/catalogue.h"

static const char *data_dir;
static struct arena arena;
static struct catalogue catalogue;

static int load(void **state)
{
	struct err err = ERR_INIT;
	(void)state;
	const char *path = arena_printf(&arena, "%s/mechanisms.yaml", data_dir);
	if (catalogue_load(path, &arena, &catalogue, &err) == OK)
		return 0;
	print_error("%s:%d:%d: %s\n", path, err.line, err.column, err.message);
	return -1;
}

static int unload(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static const struct mechanism *find(const char *id)
{
	const struct mechanism *m = catalogue_find(&catalogue, id);
	if (!m)
		fail_msg("no mechanism %s", id);
	return m;
}

static void reads_every_mechanism(void **state)
{
	(void)state;
	size_t spellings = 0, conflicts = 0, contrasts = 0;
	for (size_t i = 0; i < catalogue.n_mechanisms; i++) {
		spellings += catalogue.mechanisms[i].n_spellings;
		conflicts += catalogue.mechanisms[i].n_conflicts;
		contrasts += catalogue.mechanisms[i].n_priors;
	}
	/* Counted with PyYAML. */
	assert_int_equal(catalogue.n_mechanisms, 101);
	assert_int_equal(spellings, 696);
	assert_int_equal(conflicts, 181);
	assert_int_equal(contrasts, 113);
}

static void says_what_a_mechanism_is(void **state)
{
	(void)state;
	const struct mechanism *m = find("fused_optimizer");
	assert_int_equal(m->class, MECHANISM_KERNEL);
	assert_string_equal(m->reference, "foreach");
	assert_int_equal(m->values.n, 7);
	assert_string_equal(m->values.items[2], "fused");
	assert_int_equal(m->memory, MEMORY_MIXED);
	assert_true(isnan(m->peak_ln_ratio));
	assert_null(find("micro_batch_size")->reference);
	assert_non_null(find("micro_batch_size")->contract);
	assert_true(find("micro_batch_size")->is_number);
	assert_int_equal(find("compute_dtype")->numerics, NUMERICS_LOWER_PRECISION);
}

static void translates_spellings(void **state)
{
	(void)state;
	const struct mechanism *m = find("compute_dtype");
	const struct mechanism_spelling *s = mechanism_spelling_find(m, "native", "make PRECISION=");
	assert_string_equal(mechanism_spelling_value(s, "BF16"), "bf16");
	assert_null(mechanism_spelling_value(s, "INT8"));
	assert_null(mechanism_spelling_find(m, "native", "--bf16"));
	s = mechanism_spelling_find(m, "megatron", "--disable-bf16-reduced-precision-matmul");
	assert_null(mechanism_spelling_value(s, "present")); /* a rule, not a value */
}

static void finds_published_gains(void **state)
{
	(void)state;
	double mean, sd;
	const char *source;
	const struct mechanism *m = find("fused_optimizer");
	assert_true(mechanism_published_gain(m, "a100", "foreach", "fused", NAN, &mean, &sd, &source));
	assert_true(fabs(mean - 0.0373) < 1e-12 && fabs(sd - 0.05) < 1e-12);
	/* No row of this class: the one of any hardware. Against it, the sign turns. */
	assert_true(mechanism_published_gain(m, "h100", "fused", "foreach", NAN, &mean, &sd, &source));
	assert_true(fabs(mean + 0.0369) < 1e-12);
	assert_false(mechanism_published_gain(m, "h100", "fused", "te_fused", NAN, &mean, &sd, &source));
	assert_false(mechanism_published_gain(m, "h100", "fused", "fused", NAN, &mean, &sd, &source));
	/* A microbenchmark, 6.875 times faster: nothing without the share of the work; with half of an
	 * update, 1 / (0.5 + 0.5 / 6.875). exp(1.9279) is 6.875 to four digits. */
	m = find("tf32_matmul");
	assert_false(mechanism_published_gain(m, "a100", "false", "true", NAN, &mean, &sd, &source));
	assert_true(mechanism_published_gain(m, "a100", "false", "true", 0.5, &mean, &sd, &source));
	assert_true(fabs(mean + log(0.5 + 0.5 / 6.875)) < 1e-4);
	/* The derivative of -ln(0.5 + 0.5 e^-m) is 0.5 e^-m / (0.5 + 0.5 e^-m); the sd is 0.9639. */
	assert_true(fabs(sd - 0.9639 * (0.5 / 6.875) / (0.5 + 0.5 / 6.875)) < 1e-4);
	/* Against it: half of the update takes 6.875 times as long. */
	assert_true(mechanism_published_gain(m, "a100", "true", "false", 0.5, &mean, &sd, &source));
	assert_true(fabs(mean + log(0.5 + 0.5 * 6.875)) < 1e-3);
	/* Two that disagree, four results of 0.256 and one of 0.7701: mean 0.35882, and of the mixture the
	 * variance (4 * 0.128^2 + 0.3851^2) / 5 + (4 * 0.256^2 + 0.7701^2) / 5 - 0.35882^2. */
	m = find("zero_quantized_comm");
	assert_true(mechanism_published_gain(m, "h100", "off", "both", NAN, &mean, &sd, &source));
	assert_true(fabs(mean - 0.35882) < 1e-9);
	assert_true(fabs(sd * sd - ((4 * 0.128 * 0.128 + 0.3851 * 0.3851) / 5 +
					   (4 * 0.256 * 0.256 + 0.7701 * 0.7701) / 5 - 0.35882 * 0.35882)) <
		    1e-9);
	/* Only said, not measured. */
	assert_false(mechanism_published_gain(
		find("dataloader_workers"), "cpu", "2", "4", NAN, &mean, &sd, &source));
}

static void knows_conflicts_from_both_sides(void **state)
{
	(void)state;
	const struct mechanism *optimizer = find("fused_optimizer"), *dtype = find("compute_dtype");
	const struct mechanism_conflict *k = mechanisms_conflict("ddp", dtype, "fp16", optimizer, "fused");
	assert_non_null(k);
	assert_int_equal(k->effect, CONFLICT_WRONG_RESULT);
	assert_ptr_equal(k, mechanisms_conflict("ddp", optimizer, "fused", dtype, "fp16"));
	assert_null(mechanisms_conflict("ddp", optimizer, "fused", dtype, "bf16"));
	assert_null(mechanisms_conflict("ddp", optimizer, "foreach", dtype, "fp16"));
	/* FSDP2 is a condition: nothing that can be said of the two values alone. */
	assert_null(mechanisms_conflict("megatron", dtype, "fp16", find("zero_stage"), "3"));
}

#define REST                                                                                                 \
	"  phases: [forward]\n  kind: bool\n  values: [false, true]\n  reference: false\n"                   \
	"  memory: {sign: none, rule: none, peak_log_ratio_mean: null, sd: null}\n  numerics: exact\n"       \
	"  prior: null\n  requires: []\n  evidence: []\n"
#define GOOD                                                                                                 \
	"- id: a\n  title: t\n  class: kernel\n" REST "  spellings: {hf: [{flag: x, map: {true: true}}]}\n"

static const struct mistake {
	const char *text, *message;
	int line;
} mistakes[] = {
	{"a: 1\n", "expected a list of mechanisms, got a mapping", 1},
	{GOOD GOOD "", "mechanism 'a' is listed twice", 14},
	{"- id: a\n  title: t\n  class: fast\n" REST "  spellings: {}\n",
		"a.class: expected kernel or balance, got 'fast'", 3},
	{GOOD "  conflicts: [{with: b, effect: crash, reason: r}]\n",
		"a.conflicts: there is no mechanism 'b'", 1},
	{"- id: a\n  title: t\n  class: kernel\n" REST "  spellings: {hf: {}}\n",
		"a.spellings.hf: expected a list, got a mapping", 13},
	{GOOD "  colour: red\n", "unknown key 'colour' in a", 14},
};

static void refuses_what_is_no_catalogue(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
		const struct mistake *m = &mistakes[i];
		struct err err = ERR_INIT;
		struct catalogue c;
		assert_int_equal(
			catalogue_parse("m.yaml", m->text, strlen(m->text), &arena, &c, &err), ERR_INPUT);
		if (err.line != m->line || !strstr(err.message, m->message))
			fail_msg("%zu: %d:%d: %s", i, err.line, err.column, err.message);
	}
	struct catalogue c;
	struct err err = ERR_INIT;
	assert_int_equal(catalogue_parse("m.yaml", GOOD, strlen(GOOD), &arena, &c, &err), OK);
	assert_int_equal(c.n_mechanisms, 1);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_mechanism),
		cmocka_unit_test(says_what_a_mechanism_is),
		cmocka_unit_test(translates_spellings),
		cmocka_unit_test(finds_published_gains),
		cmocka_unit_test(knows_conflicts_from_both_sides),
		cmocka_unit_test(refuses_what_is_no_catalogue),
	};
	data_dir = argc > 1 ? argv[1] : "data";
	return cmocka_run_group_tests(tests, load, unload);
}
