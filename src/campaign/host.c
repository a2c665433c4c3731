#include "base/base.h"

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "campaign/host.h"
#include "runner/disk_watch.h"

/* Device nodes of accelerators, not of displays (/dev/dri is there with any screen). */
static const char *const accelerators[] = {"/dev/nvidia[0-9]*", "/dev/kfd", "/dev/accel*", "/dev/accel/*",
	"/dev/neuron*", "/dev/habanalabs*", "/dev/dxg"};

static bool has_accelerator(void)
{
	bool any = false;
	for (size_t i = 0; i < ARRAY_LEN(accelerators) && !any; i++) {
		glob_t found;
		any = glob(accelerators[i], GLOB_NOSORT, NULL, &found) == 0 && found.gl_pathc > 0;
		globfree(&found);
	}
	return any;
}

bool device_is_host(const struct reference_set *refs, const struct receipt *r)
{
	bool reported = refs->n == 0 && r->peak_reported_bytes.has;
	for (size_t i = 0; i < refs->n; i++)
		reported = reported || refs->valid[i]->peak_reported_bytes.has;
	return !reported && !has_accelerator();
}

bool job_filled_disk(const struct run_outcome *outcome, const char *build_dir, const char *trial_dir)
{
	double grown = tree_disk_bytes(trial_dir) - tree_disk_bytes(build_dir);
	return fmax(grown, outcome->disk_regained_bytes) >= outcome->disk_lost_bytes / 2;
}

static const char frozen_review[] = "frozen-files: ";

bool reference_is_touched(const struct state *s)
{
	for (size_t i = 0; i < s->n_references; i++)
		for (int k = 0; k < s->references[i].verdict.n_reviews; k++)
			if (strncmp(s->references[i].verdict.reviews[k], frozen_review,
				    sizeof(frozen_review) - 1) == 0)
				return true;
	return false;
}

void verdict_add_review(struct verdict *v, const char *review)
{
	if (*review && v->n_reviews < MAX_REVIEWS)
		snprintf(v->reviews[v->n_reviews++], REASON_SIZE, "%s", review);
}
