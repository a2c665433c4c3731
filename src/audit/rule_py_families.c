/* A3 for Python: which optimizer and which schedule, and how they are made. */
#include "base/base.h"

#include <string.h>
#include <strings.h>

#include "audit/python.h"

#define IN(name, list) name_is_one_of(name, list, ARRAY_LEN(list))
#define HAS(name, list) py_name_has_any(name, list, ARRAY_LEN(list))

static const struct {
	const char *part, *family;
} families[] = {{"adamw", "adamw"}, {"adafactor", "adafactor"}, {"adagrad", "adagrad"},
	{"adadelta", "adadelta"}, {"adamax", "adamax"}, {"nadam", "nadam"}, {"radam", "radam"},
	{"adam", "adam"}, {"sgd", "sgd"}, {"lion", "lion"}, {"muon", "muon"}, {"lamb", "lamb"},
	{"lars", "lars"}, {"rmsprop", "rmsprop"}, {"shampoo", "shampoo"}, {"soap", "soap"},
	{"sophia", "sophia"}, {"galore", "galore"}, {"cosine", "cosine"}, {"linearlr", "linear"},
	{"constantlr", "constant"}, {"steplr", "step"}, {"onecycle", "onecycle"},
	{"exponentiallr", "exponential"}, {"polynomiallr", "polynomial"}};

static const char *family_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (strcasestr(name, families[i].part))
			return families[i].family;
	return NULL;
}

static bool is_maker(const struct fact *f)
{
	static const char *const quiet[] = {"lambda", "reclaim", "available"};
	return f->kind == FACT_CALL && family_of(f->name) && !HAS(f->name, quiet);
}

/* Keywords of an optimizer or a schedule, but for those that choose how the same is computed. */
static bool is_keyword_of_maker(const struct fact *f)
{
	static const char *const honest[] = {"fused", "foreach", "capturable", "params", "optimizer",
		"set_to_none", "last_epoch", "process_group", "verbose"};
	return py_is_option(f) && !f->same && !IN(f->name, honest) && family_of(f->step) &&
	       py_is_constructor(f->step);
}

/* The same value under another name, as far as can be told. */
static bool may_be_same_value(const struct change *change, const struct fact *f)
{
	return f->twin && !py_is_literal(f->value) && !text_contains(f->twin->value, f->value) &&
	       !text_has_new_number(f->value, f->twin->value) &&
	       !py_is_less(change, f, f->value, f->twin->value);
}

static void check_keywords_of_makers(struct change *change)
{
	static const char reason[] = "the optimizer or the schedule is made differently";
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *f = change->old[i];
		if (is_keyword_of_maker(f) && !f->twin && !py_is_off(f->value) &&
			py_find(change, true, FACT_CALL, f->step, NULL))
			report(change, AUDIT_BLOCK, f, reason);
	}
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (is_keyword_of_maker(f) && existed(change, FACT_CALL, f->step) &&
			!(py_is_off(f->value) && !f->twin))
			report(change, may_be_same_value(change, f) ? AUDIT_REVIEW : AUDIT_BLOCK, f, reason);
	}
}

/* FusedAdam, DeepSpeedCPUAdam: adamw by default. */
static bool may_be_adamw(const char *name)
{
	return strcasestr(name, "fusedadam") || strcasestr(name, "cpuadam") ||
	       strcasestr(name, "multitensor");
}

/* The job's own Adam may decay its weights as AdamW does. */
static bool is_related(const struct change *change, const struct fact *old, const struct fact *now)
{
	bool own = py_find(change, false, FACT_CLASS, old->name, NULL) ||
		   py_find(change, false, FACT_FUNCTION, old->name, NULL);
	bool adam = strcasestr(old->name, "adam") && strcasestr(now->name, "adam");
	return may_be_adamw(now->name) || (own && adam);
}

static void check_families(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++) {
		const struct fact *old = change->old[i];
		if (!is_maker(old) || (old->twin && old->twin->kind == FACT_CALL))
			continue;
		const struct fact *other = NULL;
		bool kept = false;
		for (size_t k = 0; k < change->n_new && !kept; k++) {
			const struct fact *now = change->new[k];
			if (!is_maker(now) || now->twin)
				continue;
			other = now;
			kept = strcmp(family_of(now->name), family_of(old->name)) == 0;
		}
		if (other && !kept)
			report(change, is_related(change, old, other) ? AUDIT_REVIEW : AUDIT_BLOCK, other,
				"another optimizer or schedule takes the place of the old one");
	}
}

/* optim="adamw_torch" became "adafactor"; {"type": "AdamW"} became {"type": "OneBitAdam"}. */
static void check_named_families(struct change *change)
{
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (f->kind != FACT_ASSIGN || !f->twin || f->same || !strpbrk(f->value, "\"'") ||
			!strpbrk(f->twin->value, "\"'"))
			continue;
		const char *was = family_of(f->twin->value), *now = family_of(f->value);
		bool schedule = HAS(f->name, ((const char *const[]){"sched", "lr_"}));
		if ((was || now) && (!was || !now || strcmp(was, now) != 0) && was)
			report(change, AUDIT_BLOCK, f,
				"another optimizer or schedule takes the place of the old one");
		else if (schedule && strcmp(f->value, f->twin->value) != 0)
			report(change, AUDIT_BLOCK, f, "another schedule takes the place of the old one");
	}
}

/* The curve of a schedule: cos(), exp() or sqrt() gone from the function of the rate, or new in it. */
static bool is_curve(const struct fact *f)
{
	static const char *const curves[] = {"cos", "sin", "exp", "pow", "sqrt", "tanh", "log"};
	static const char *const schedules[] = {"lr", "rate", "sched", "anneal", "warmup"};
	return py_is_new(f, FACT_CALL) && name_is_one_of(f->name, curves, ARRAY_LEN(curves)) &&
	       py_name_has_any(py_short(f->function), schedules, ARRAY_LEN(schedules));
}

static bool has_curve(const struct change *change, const struct fact *lost)
{
	if (!spend(change, change->n_new))
		return true;
	for (size_t i = 0; i < change->n_new; i++)
		if (py_is_new(change->new[i], FACT_CALL) && strcmp(change->new[i]->name, lost->name) == 0)
			return true;
	return false;
}

static void check_curves(struct change *change)
{
	for (size_t i = 0; i < change->n_old; i++)
		if (is_curve(change->old[i]) && !has_curve(change, change->old[i]) &&
			py_function_remains(change, change->old[i]->function))
			report(change, AUDIT_BLOCK, change->old[i], "the schedule follows another curve");
	for (size_t i = 0; i < change->n_new; i++) {
		const struct fact *f = change->new[i];
		if (is_curve(f) && py_existed_function(change, f->function) &&
			!existed(change, FACT_CALL, f->name))
			report(change, AUDIT_BLOCK, f, "the schedule follows another curve");
	}
}

void py_check_families(struct change *change)
{
	check_curves(change);
	check_families(change);
	check_keywords_of_makers(change);
	check_named_families(change);
}
