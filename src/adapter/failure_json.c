#include "base/base.h"

#include <math.h>

#include "adapter/failure.h"
#include "base/json.h"

#define GIB 1073741824.0

static json_t *gib(struct opt_number bytes)
{
	/* Six decimals: the messages have three digits, and a difference of two keeps no more. */
	return bytes.has ? json_from_number(rint(bytes.value / GIB * 1e6) / 1e6) : json_null();
}

static void put_gib(json_t *json, const char *key, struct opt_number bytes)
{
	if (bytes.has)
		json_object_set_new(json, key, gib(bytes));
}

/* Of a whole process, of which pages come and go: four decimals. */
static void put_host_gib(json_t *json, const char *key, struct opt_number bytes)
{
	if (bytes.has)
		json_object_set_new(json, key, json_from_number(rint(bytes.value / GIB * 1e4) / 1e4));
}

static void put_integer(json_t *json, const char *key, struct opt_number n)
{
	if (n.has && fabs(n.value) < 9e15)
		json_object_set_new(json, key, json_integer((json_int_t)n.value));
}

static void put_text(json_t *json, const char *key, const char *text)
{
	if (text)
		json_object_set_new(json, key, json_string(text));
}

static void put_memory(json_t *json, const struct failure_report *r)
{
	put_gib(json, "allocated_gib", r->allocated_bytes);
	put_gib(json, "reserved_unallocated_gib", r->reserved_unallocated_bytes);
	put_gib(json, "reserved_total_gib", r->reserved_total_bytes);
	put_gib(json, "process_in_use_gib", r->process_in_use_bytes);
	put_gib(json, "foreign_in_use_gib", r->foreign_in_use_bytes);
	put_gib(json, "private_pools_gib", r->private_pools_bytes);
	put_gib(json, "allowed_gib", r->allowed_bytes);
	put_integer(json, "oom_count", r->oom_count);
	put_gib(json, "max_shortfall_gib", r->max_shortfall_bytes);
	put_host_gib(json, "host_rss_gib", r->host_rss_bytes);
	put_gib(json, "host_requested_gib", r->host_requested_bytes);
	if (r->size_bogus)
		json_object_set_new(json, "size_bogus", json_true());
}

static void put_ranks(json_t *json, const struct failure_report *r)
{
	if (r->n_ranks == 0)
		return;
	json_t *ranks = json_array();
	for (size_t i = 0; i < r->n_ranks; i++)
		json_array_append_new(ranks, json_integer(r->ranks[i]));
	json_object_set_new(json, "ranks", ranks);
}

json_t *failure_report_to_json(const struct failure_report *r)
{
	if (r->class == FAILURE_NONE)
		return json_null();
	json_t *json = json_object();
	json_object_set_new(json, "kind", json_string(failure_class_names[r->class]));
	json_object_set_new(json, "device_oom_requested_gib", gib(r->requested_bytes));
	json_object_set_new(json, "shortfall_gib", gib(r->shortfall_bytes));
	json_object_set_new(json, "capacity_gib", gib(r->capacity_bytes));
	json_object_set_new(json, "free_gib", gib(r->free_bytes));
	json_object_set_new(
		json, "rank", r->rank.has ? json_integer((json_int_t)r->rank.value) : json_null());
	json_object_set_new(json, "root_cause_line", r->line > 0 ? json_integer(r->line) : json_null());
	json_object_set_new(json, "root_cause_text", r->text[0] ? json_from_text(r->text) : json_null());
	put_text(json, "subkind", r->subkind);
	put_text(json, "wording", r->wording);
	put_text(json, "surface", r->surface);
	put_text(json, "nccl", r->nccl);
	put_integer(json, "device_index", r->device_index);
	put_integer(json, "exit_code", r->exit_code);
	put_integer(json, "signal", r->signal);
	put_integer(json, "pid", r->pid);
	put_integer(json, "port", r->port);
	put_integer(json, "timeout_ms", r->timeout_ms);
	put_integer(json, "last_good_step", r->last_good_step);
	put_ranks(json, r);
	put_memory(json, r);
	return json;
}
