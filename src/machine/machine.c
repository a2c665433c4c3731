#include "base/base.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "machine/machine.h"
#include "machine/machine_int.h"

static enum err_code topology_build(hwloc_topology_t topology, struct err *reterr)
{
	if (hwloc_topology_load(topology) != 0)
		return err_errno(reterr, "cannot read the machine's topology");
	hwloc_cpuset_t allowed = hwloc_bitmap_alloc();
	if (!allowed)
		return err_errno(reterr, "cannot read the machine's topology");
	/* Where the affinity cannot be read, the whole machine is the best guess. */
	if (hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS) == 0 && !hwloc_bitmap_iszero(allowed))
		(void)hwloc_topology_restrict(topology, allowed, HWLOC_RESTRICT_FLAG_REMOVE_CPULESS);
	hwloc_bitmap_free(allowed);
	return OK;
}

enum err_code topology_load(hwloc_topology_t *ret_topology, struct err *reterr)
{
	hwloc_topology_t topology;
	if (hwloc_topology_init(&topology) != 0)
		return err_errno(reterr, "cannot read the machine's topology");
	enum err_code code = topology_build(topology, reterr);
	if (code != OK) {
		hwloc_topology_destroy(topology);
		return code;
	}
	*ret_topology = topology;
	return OK;
}

double topology_l3_bytes(hwloc_topology_t topology)
{
	double bytes = 0;
	hwloc_obj_t cache = NULL;
	while ((cache = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_L3CACHE, cache)))
		bytes += (double)cache->attr->cache.size;
	return bytes;
}

/* At least 1: small machines and containers leave levels out. */
static int count_objects(hwloc_topology_t topology, hwloc_obj_type_t type)
{
	int n = hwloc_get_nbobjs_by_type(topology, type);
	return MAX_OF(n, 1);
}

static void read_topology(hwloc_topology_t topology, struct machine *m)
{
	m->threads = count_objects(topology, HWLOC_OBJ_PU);
	int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
	m->cores = cores > 0 ? cores : m->threads;
	m->sockets = count_objects(topology, HWLOC_OBJ_PACKAGE);
	m->numa_nodes = count_objects(topology, HWLOC_OBJ_NUMANODE);
	m->l3_bytes = topology_l3_bytes(topology);
	hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
	const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
	if (model)
		snprintf(m->cpu, sizeof(m->cpu), "%s", model);
}

enum err_code machine_read(struct machine *ret_machine, struct err *reterr)
{
	struct machine m = {.cpu = ""};
	hwloc_topology_t topology;
	TRY(topology_load(&topology, reterr));
	read_topology(topology, &m);
	hwloc_topology_destroy(topology);

	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	if (file_read("/proc/cpuinfo", FILE_CAP_DEFAULT, &text, NULL) == OK)
		cpuinfo_parse(text.buf, &m);
	if (!m.cpu[0])
		snprintf(m.cpu, sizeof(m.cpu), "unknown");
	m.virtualised |= path_exists("/sys/hypervisor/type") || path_exists("/proc/device-tree/hypervisor");
	m.memory_bytes = memory_usable_bytes();

	struct utsname name;
	if (uname(&name) != 0)
		return err_errno(reterr, "uname failed");
	snprintf(m.arch, sizeof(m.arch), "%.31s", name.machine);
	snprintf(m.kernel, sizeof(m.kernel), "%.48s %.72s", name.sysname, name.release);
	*ret_machine = m;
	return OK;
}

/* Escaped first: JSON must be valid UTF-8 whatever the firmware calls itself. */
static json_t *json_text(const char *text)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, text, strlen(text));
	return json_string(safe.buf);
}

/* null for what is not a finite number of this size */
static json_t *json_whole(double value)
{
	return fabs(value) < 9e18 ? json_integer((json_int_t)value) : json_null();
}

static json_t *probe_json(const struct machine_probe *probe)
{
	json_t *object = json_object();
	json_object_set_new(object, "bandwidth_bytes_per_s", json_whole(probe->bandwidth_bytes_per_s));
	json_object_set_new(object, "kernel", json_text(probe->kernel ? probe->kernel : ""));
	json_object_set_new(object, "peak_flops", json_whole(probe->peak_flops));
	json_object_set_new(object, "seconds", json_real(round(probe->seconds * 1e3) / 1e3));
	json_object_set_new(object, "triad_bytes", json_whole(probe->triad_bytes));
	json_object_set_new(object, "workers", json_integer(probe->workers));
	return object;
}

void machine_to_json(const struct machine *m, const struct machine_probe *probe, struct strbuf *json)
{
	json_t *object = json_object();
	json_object_set_new(object, "arch", json_text(m->arch));
	json_object_set_new(object, "cores", json_integer(m->cores));
	json_object_set_new(object, "cpu", json_text(m->cpu));
	json_object_set_new(object, "features", json_text(m->features));
	json_object_set_new(object, "kernel", json_text(m->kernel));
	json_object_set_new(object, "l3_bytes", json_whole(m->l3_bytes));
	json_object_set_new(object, "memory_bytes", json_whole(m->memory_bytes));
	json_object_set_new(object, "numa_nodes", json_integer(m->numa_nodes));
	json_object_set_new(object, "sockets", json_integer(m->sockets));
	json_object_set_new(object, "threads", json_integer(m->threads));
	json_object_set_new(object, "virtualised", json_boolean(m->virtualised));
	if (probe)
		json_object_set_new(object, "probe", probe_json(probe));
	char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(12));
	strbuf_addstr(json, text ? text : "{}");
	free(text);
	json_decref(object);
}

double model_flops_utilisation(double active_params, double layers, double d_attn, double seq_len,
	double tokens, double peak_flops, double seconds)
{
	if (!(peak_flops > 0) || !(seconds > 0))
		return NAN;
	double flops = (6 * active_params + 12 * layers * d_attn * seq_len) * tokens;
	return flops / (peak_flops * seconds);
}
