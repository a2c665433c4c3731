/* What a failure's own text says of levers, and how far it is believed. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "model/blame_hints.h"
#include "model/evidence.h"

enum { LEVERS = 6, MAX_RUNS = 32 };

static const char *const kernels[] = {"eager", "FlexAttention"}, *const switches[] = {"off", "on"},
			 *const sizes[] = {"1", "2"};
static const char *const mechanism[] = {"gradient_checkpointing"};

static void levers_init(struct lever *lever)
{
	static const char *const name[LEVERS] = {
		"attn_impl", "compile", "micro_batch", "act_ckpt", "flex-cached-mask", "loader"};
	static struct lever_prior prior[2];
	for (int l = 0; l < LEVERS; l++)
		lever[l] = (struct lever){.name = name[l],
			.is_patch = l == 4,
			.n_settings = 2,
			.prior = prior,
			.setting_names = l == 0   ? kernels
					 : l == 2 ? sizes
						  : switches};
	lever[3].words = mechanism;
	lever[3].n_words = 1;
}

static void what_a_text_names(void **state)
{
	(void)state;
	static const int setting[LEVERS] = {1, 1, 1, 1, 1, 1};
	static const struct {
		const char *text;
		unsigned named; /* bit of each lever */
	} cases[] = {
		{"RuntimeError: flex_attention does not support this layout", 1u << 0},
		{"torch._dynamo.exc.Unsupported: torch.compile with gradient-checkpointing",
			1u << 1 | 1u << 3},
		{"KeyError: 'cached_mask'", 1u << 4},
		{"ValueError: micro_batch must divide the global batch", 1u << 2},
		{"MicroBatch is odd", 1u << 2}, {"CUDA error: device-side assert triggered on rank 2", 0},
		{"recompiled the loaders", 0},                                       /* whole words only */
		{"", 0}, {"args: attn_impl compile micro_batch act_ckpt loader", 0}, /* names everything */
	};
	struct lever lever[LEVERS];
	levers_init(lever);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool named[LEVERS];
		unsigned bits = 0;
		int n = evidence_named(lever, LEVERS, setting, cases[i].text, named);
		for (int l = 0; l < LEVERS; l++)
			bits |= named[l] ? 1u << l : 0;
		if (bits != cases[i].named || n != __builtin_popcount(bits))
			fail_msg("'%s': %#x, expected %#x", cases[i].text, bits, cases[i].named);
	}
}

/* Names that say nothing alone do where a setting follows them; what a whole name takes, no other name's part
 * can be meant by. */
static void whole_names_and_settings(void **state)
{
	(void)state;
	static const char *const names[LEVERS] = {"tp", "p_fused_rope", "p_fused_norm", "compile",
		"compile_mode", "batch"},
				 *const numbers[] = {"1", "2"}, *const modes[] = {"default", "max-autotune"},
				 *const flags[] = {"off", "on"};
	static const int setting[LEVERS] = {1, 1, 1, 1, 1, 1};
	static struct lever_prior prior[2];
	static const struct {
		const char *text;
		unsigned named;
	} cases[] = {
		{"tp=2 is not supported", 1u << 0},
		{"needs --tp 1", 1u << 0}, /* another setting of it */
		{"'tp': '2'", 1u << 0},
		{"tp is on", 0},
		{"tp=20", 0},
		{"p_fused_rope=on failed", 1u << 1},
		{"fused rope failed", 1u << 1},
		{"p_fused: no such thing", 1u << 1 | 1u << 2}, /* a part that both have */
		{"compile_mode=max-autotune", 1u << 4},
		{"compile=on and compile_mode", 1u << 3 | 1u << 4},
		{"compile failed", 1u << 3}, /* of compile_mode it is not two words in a row */
		{"max-autotune failed", 1u << 4},
		{"batch 2 is bad", 0},
	};
	struct lever lever[LEVERS];
	for (int l = 0; l < LEVERS; l++)
		lever[l] = (struct lever){.name = names[l],
			.is_patch = l == 1 || l == 2,
			.n_settings = 2,
			.prior = prior,
			.setting_names = l == 0 || l == 5 ? numbers
					 : l == 4         ? modes
							  : flags};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool named[LEVERS];
		unsigned bits = 0;
		evidence_named(lever, LEVERS, setting, cases[i].text, named);
		for (int l = 0; l < LEVERS; l++)
			bits |= named[l] ? 1u << l : 0;
		if (bits != cases[i].named)
			fail_msg("'%s': %#x, expected %#x", cases[i].text, bits, cases[i].named);
	}
}

/* A word that belongs to two levers names both. */
static void a_word_of_two_levers_names_both(void **state)
{
	(void)state;
	static const char *const words[] = {"flash_attention"};
	static const int setting[LEVERS] = {0};
	struct lever lever[LEVERS];
	bool named[LEVERS];
	levers_init(lever);
	lever[1].words = lever[5].words = words;
	lever[1].n_words = lever[5].n_words = 1;
	assert_int_equal(evidence_named(lever, LEVERS, setting, "FlashAttention: bad layout", named), 2);
	assert_true(named[1] && named[5]);
}

/* The setting's own name counts where the run has that setting. */
static void a_setting_is_named_where_it_is_set(void **state)
{
	(void)state;
	static const int eager[LEVERS] = {0};
	struct lever lever[LEVERS];
	bool named[LEVERS];
	levers_init(lever);
	assert_int_equal(evidence_named(lever, LEVERS, eager, "FlexAttention failed", named), 0);
	assert_int_equal(evidence_named(lever, LEVERS, eager, "eager attention failed", named), 1);
}

static void a_long_text_is_cut(void **state)
{
	(void)state;
	static char text[20000];
	struct lever lever[LEVERS];
	bool named[LEVERS];
	static const int setting[LEVERS] = {0};
	levers_init(lever);
	for (size_t i = 0; i + 2 < sizeof(text); i += 2) {
		text[i] = 'x';
		text[i + 1] = i % 4 ? ' ' : '_';
	}
	assert_int_equal(evidence_named(lever, LEVERS, setting, text, named), 0);
}

/* ------------------------------------------------------------- belief */

struct fixture {
	struct lever lever[LEVERS];
	struct observation observation[MAX_RUNS];
	struct model_input in;
};

static void fixture_init(struct fixture *f)
{
	*f = (struct fixture){0};
	levers_init(f->lever);
	f->in = (struct model_input){.levers = f->lever,
		.n_levers = LEVERS,
		.observations = f->observation,
		.reference_runs = 4,
		.capacity_bytes = INFINITY,
		.memory_cap_bytes = INFINITY};
}

static void add(struct fixture *f, const int *setting, enum observed_status status, const char *evidence)
{
	f->observation[f->in.n_observations++] = (struct observation){.setting = setting,
		.status = status,
		.evidence = evidence,
		.peak_bytes = NAN,
		.shortfall_bytes = NAN};
}

static struct suspicion strongest(const struct fixture *f)
{
	struct blame_model *m = NULL;
	struct err err = ERR_INIT;
	size_t count;
	assert_int_equal(blame_model_fit(&f->in, &m, &err), OK);
	const struct suspicion *list = blame_model_suspicions(m, &count);
	struct suspicion first = count ? list[0] : (struct suspicion){.q = 0};
	blame_model_free(m);
	return first;
}

static const int b[LEVERS] = {0, 1}, a[LEVERS] = {1};

static void a_text_points_at_a_conflict_with_a_default(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	/* Lever 3 is at its default: co-occurrence alone would blame the changed setting. */
	add(&f, b, OBSERVED_CRASH, "compile does not work with gradient checkpointing");
	struct suspicion s = strongest(&f);
	assert_true(s.hinted);
	fixture_init(&f);
	static const int b_with_3[LEVERS] = {0, 1, 0, 1};
	add(&f, b, OBSERVED_CRASH, "compile does not work with gradient checkpointing");
	add(&f, b_with_3, OBSERVED_OK, NULL); /* lever 1 runs where lever 3 has left its default */
	s = strongest(&f);
	assert_true(s.hinted && s.n == 2);
	assert_true(s.lever[0] == 1 && s.setting[0] == 1 && s.lever[1] == 3 && s.setting[1] == 0);
	assert_true(s.q > 0.5);
}

/* Means of Beta(2 + right, 2 + wrong). */
static void trust_is_learnt(void **state)
{
	(void)state;
	static const bool named[LEVERS] = {true, true};
	const struct suspicion pair = {.n = 2, .lever = {0, 1}, .setting = {1, 1}},
			       half = {.n = 2, .lever = {1, 2}, .setting = {1, 1}},
			       other = {.n = 1, .lever = {2}, .setting = {1}};
	const struct hint hint = {.source = HINT_TEXT, .named = named, .n_named = 2};
	struct hint_record record = {{0}};
	assert_true(hint_trust(&record, HINT_TEXT) == 0.5);
	/* Nothing but what it names is left. */
	hint_judge(&record, &hint, &pair, 1);
	assert_true(hint_trust(&record, HINT_TEXT) == 3.0 / 5 && hint_trust(&record, HINT_PAIR) == 0.5);
	/* Other things are left too: nothing is known. */
	hint_judge(&record, &hint, (const struct suspicion[]){pair, other}, 2);
	assert_true(hint_trust(&record, HINT_TEXT) == 3.0 / 5);
	/* All that it names has run. */
	hint_judge(&record, &hint, &other, 1);
	assert_true(hint_trust(&record, HINT_TEXT) == 3.0 / 6);
	hint_judge(&record, &hint, &other, 1);
	assert_true(hint_trust(&record, HINT_TEXT) == 3.0 / 7);
	/* No hypothesis is left at all: a transient failure, of which no text is wrong. */
	hint_judge(&record, &hint, NULL, 0);
	assert_true(hint_trust(&record, HINT_TEXT) == 3.0 / 7);
	/* One of two named alike is true with the source's trust; what it names one half of waits. */
	struct suspicion left[] = {pair, half, pair, other};
	hint_apply(&record, &hint, left, 4);
	assert_true(fabs(1 - (1 - left[0].q) * (1 - left[2].q) - 3.0 / 7) < 1e-12);
	assert_true(left[0].hinted && !left[1].hinted && left[1].q == 0 && left[3].q == 0);
	hint_apply(&record, &hint, &left[1], 1);
	assert_true(left[1].hinted && fabs(left[1].q - 3.0 / 7) < 1e-12);
}

/* Whoever names two settings means the two: one of them alone comes up only when they have run together. */
static void two_that_are_named_are_a_pair_first(void **state)
{
	(void)state;
	static const bool named[LEVERS] = {true, true};
	static const struct hint hint = {.source = HINT_TEXT, .named = named, .n_named = 2};
	const struct hint_record record = {{0}};
	const struct suspicion pair = {.n = 2, .lever = {0, 1}, .setting = {1, 1}},
			       one = {.n = 1, .lever = {0}, .setting = {1}},
			       half = {.n = 2, .lever = {1, 2}, .setting = {1, 1}};
	struct suspicion left[] = {one, pair, half};
	assert_int_equal(hint_rank_of(&hint, &pair), RANK_ALL);
	assert_int_equal(hint_rank_of(&hint, &one), RANK_SOME);
	assert_int_equal(hint_rank_of(&hint, &half), RANK_HALF);
	hint_apply(&record, &hint, left, 3);
	assert_true(left[0].q == 0 && fabs(left[1].q - 0.5) < 1e-12 && left[2].q == 0);
	struct suspicion rest[] = {one, half};
	hint_apply(&record, &hint, rest, 2);
	assert_true(fabs(rest[0].q - 0.5) < 1e-12 && rest[1].q == 0);
}

static void a_known_conflict_is_suspected_until_it_passes(void **state)
{
	(void)state;
	struct fixture f;
	static const struct lever_pair known = {1, 1, 0, 1}, self = {2, 0, 2, 0};
	static const int both[LEVERS] = {1, 1};
	fixture_init(&f);
	f.in.known_conflicts = &known;
	f.in.n_known_conflicts = 1;
	struct blame_model *m = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(blame_model_fit(&f.in, &m, &err), OK);
	double with = blame_model_p_ok(m, both), without = blame_model_p_ok(m, a) * blame_model_p_ok(m, b);
	assert_true(fabs(with - 0.5 * without * (1 - 0.003)) < 1e-12);
	blame_model_free(m);
	add(&f, both, OBSERVED_OK, NULL);
	assert_true(strongest(&f).q == 0);
	f.in.known_conflicts = &self; /* names the reference: nothing to suspect */
	f.in.n_observations = 0;
	assert_true(strongest(&f).q == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_text_names),
		cmocka_unit_test(whole_names_and_settings),
		cmocka_unit_test(a_word_of_two_levers_names_both),
		cmocka_unit_test(a_setting_is_named_where_it_is_set),
		cmocka_unit_test(a_long_text_is_cut),
		cmocka_unit_test(a_text_points_at_a_conflict_with_a_default),
		cmocka_unit_test(trust_is_learnt),
		cmocka_unit_test(two_that_are_named_are_a_pair_first),
		cmocka_unit_test(a_known_conflict_is_suspected_until_it_passes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
