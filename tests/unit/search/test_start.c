#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "search_fixture.h"

static bool no_compile(void *context, const int *setting)
{
	(void)context;
	return setting[1] == 0;
}

/* The reference, an illegal start and a start that has run are passed over. */
static void user_starts_run_first(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.in.is_legal = no_compile;
	static const int reference[LEVERS] = {0, 0, 1}, illegal[LEVERS] = {0, 1, 1},
			 first[LEVERS] = {2, 0, 1}, second[LEVERS] = {0, 0, 0, 2, 1};
	static const int *const starts[] = {reference, illegal, first, second};
	f.in.user_starts = starts;
	f.in.n_user_starts = ARRAY_LEN(starts);
	for (int k = 0; k < 2; k++) {
		struct decision d = next_decision(&f);
		assert_names(&d, "start");
		assert_memory_equal(d.setting, k ? second : first, LEVERS * sizeof(int));
		assert_int_equal(d.base_observation, -1);
		observe(&f, d.setting, OBSERVED_CRASH, 0);
		decision_release(&d);
	}
	struct decision d = next_decision(&f);
	assert_true(d.found);
	assert_null(strstr(d.operators, "start+"));
	assert_int_equal(d.setting[1], 0);
	decision_release(&d);
}

static void give_experience(struct fixture *f, int lever, int setting, double effect_ln, double gib)
{
	f->prior[lever][setting] = (struct lever_prior){.amdahl_cap_ln = INFINITY,
		.experienced = true,
		.mean_ln = 0.7 * effect_ln,
		.sd_ln = fmax(0.02, 0.5 * fabs(effect_ln)),
		.declared_bytes = gib * GIB,
		.memory_sd_bytes = fmax(0.02 * 80, 0.3 * fabs(gib)) * GIB};
}

/* Recomputation off is worth 20 % and 30 GiB; ZeRO saves 25 GiB and costs 2 %. 60 + 30 > 80, so it is
 * repaired. */
static void experience_starts_where_memory_allows(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	give_experience(&f, 0, 2, 0.2, 30);
	give_experience(&f, 3, 1, 0.05, 0);
	give_experience(&f, 4, 1, -0.02, -25);
	struct decision d = next_decision(&f);
	assert_string_equal(d.operators, "start");
	assert_int_equal(d.setting[0], 2);
	assert_int_equal(d.setting[3], 1);
	assert_int_equal(d.setting[4], 1);
	assert_true(d.p_fits >= 0.5);
	execute(&f, d.setting);
	decision_release(&d);
	d = next_decision(&f); /* once only */
	assert_null(strstr(d.operators, "start"));
	decision_release(&d);
}

static void a_mapped_configuration_is_preferred_to_effects(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	give_experience(&f, 0, 1, 0.2, 1);
	static const int mapped[LEVERS] = {0, 1, 1, 2};
	f.in.experienced_start = mapped;
	struct decision d = next_decision(&f);
	assert_string_equal(d.operators, "start");
	assert_memory_equal(d.setting, mapped, LEVERS * sizeof(int));
	decision_release(&d);
}

static void without_experience_no_start(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	struct decision d = next_decision(&f);
	assert_null(strstr(d.operators, "start"));
	decision_release(&d);
}

static void all_starts_fail_and_the_reference_stays(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	static const int first[LEVERS] = {2, 1, 1}, second[LEVERS] = {0, 0, 0, 2, 1};
	observe(&f, first, OBSERVED_CRASH, 0);
	observe(&f, second, OBSERVED_HANG, 0);
	int incumbent = 5;
	double mean = 5;
	struct err err = ERR_INIT;
	assert_int_equal(search_incumbent(&f.in, &incumbent, &mean, &err), OK);
	assert_int_equal(incumbent, -1);
	assert_true(mean == 0);
	struct decision d = next_decision(&f);
	assert_true(d.found && !is_visited(&f, d.setting));
	decision_release(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(user_starts_run_first),
		cmocka_unit_test(experience_starts_where_memory_allows),
		cmocka_unit_test(a_mapped_configuration_is_preferred_to_effects),
		cmocka_unit_test(without_experience_no_start),
		cmocka_unit_test(all_starts_fail_and_the_reference_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
