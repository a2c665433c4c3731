/* The readers on other machines' files, the fingerprint on this one, MFU by hand. */
#include "base/base.h"

#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "machine/machine.h"
#include "machine/machine_int.h"

static const struct {
	const char *text, *cpu, *features;
	bool virtualised;
} cpuinfos[] = {
	/* a server, shortened; the second processor does not count again */
	{"processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 7742  64-Core Processor   \n"
	 "flags\t\t: fpu sse2 avx f16c fma avx2 smca\n\nprocessor\t: 1\nmodel name\t: other\n",
		"AMD EPYC 7742 64-Core Processor", "fma,avx,avx2", false},
	/* a virtual machine; avx512f_x is not avx512f */
	{"model name\t: Intel(R) Xeon(R)\nflags\t\t: avx512f_x hypervisor amx_tile avx512f\n",
		"Intel(R) Xeon(R)", "avx512f,amx_tile", true},
	/* Neoverse V1 has numbers for a name */
	{"processor\t: 0\nFeatures\t: fp asimd asimdhp asimddp sve i8mm bf16\nCPU implementer\t: 0x41\n"
	 "CPU architecture: 8\nCPU part\t: 0xd40\n",
		"implementer 0x41 part 0xd40", "asimd,asimdhp,asimddp,bf16,i8mm,sve", false},
	{"Features : asimd\nModel\t\t: Raspberry Pi 5\n", "Raspberry Pi 5", "asimd", false},
	{"", "", "", false},
	{"model name", "", "", false},
	{"model name\t:", "", "", false},
	{"flags:\n\n\n:::\nmodel name x\t: y", "", "", false},
};

static void cpuinfo_of_several_machines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cpuinfos); i++) {
		struct machine m = {.cpu = ""};
		cpuinfo_parse(cpuinfos[i].text, &m);
		assert_string_equal(m.cpu, cpuinfos[i].cpu);
		assert_string_equal(m.features, cpuinfos[i].features);
		assert_int_equal(m.virtualised, cpuinfos[i].virtualised);
	}
}

static void a_name_that_is_known_stays_and_a_long_one_is_cut(void **state)
{
	(void)state;
	struct machine m = {.cpu = "known"};
	cpuinfo_parse("model name : other\n", &m);
	assert_string_equal(m.cpu, "known");
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	strbuf_addstr(&text, "model name : ");
	for (int i = 0; i < 5000; i++)
		strbuf_addch(&text, 'x');
	m = (struct machine){.cpu = ""};
	cpuinfo_parse(text.buf, &m);
	assert_int_equal(strlen(m.cpu), sizeof(m.cpu) - 1);
}

static void meminfo_lines(void **state)
{
	(void)state;
	const char text[] =
		"MemTotal:       2000 kB\nMemAvailable:    500 kB\nMemFree:  -7 kB\nBad: nan kB\n";
	assert_true(meminfo_bytes(text, "MemTotal") == 2048000);
	assert_true(meminfo_bytes(text, "MemAvailable") == 512000);
	assert_true(meminfo_bytes(text, "Mem") == 0);
	assert_true(meminfo_bytes(text, "MemFree") == 0);
	assert_true(meminfo_bytes(text, "Bad") == 0);
	assert_true(meminfo_bytes("", "MemTotal") == 0);
}

static void put(const char *root, const char *folder, const char *name, const char *text)
{
	CLEANUP(free_ptr) char *dir = xasprintf("%s%s", root, folder);
	CLEANUP(free_ptr) char *path = xasprintf("%s/%s", dir, name);
	assert_int_equal(make_dirs(dir, 0700, NULL), OK);
	assert_int_equal(file_write_atomic(path, text, strlen(text), 0600, NULL), OK);
}

static void control_group_limits_hold_down_the_tree(void **state)
{
	(void)state;
	char root[] = "/tmp/infrarsi-machine-XXXXXX";
	assert_non_null(mkdtemp(root));
	put(root, "/jobs/a/inner", "memory.max", "max\n");
	put(root, "/jobs/a", "memory.max", "1073741824\n");
	put(root, "/jobs", "memory.max", "4294967296\n");
	put(root, "/memory/old/b", "memory.limit_in_bytes", "9223372036854771712\n");
	put(root, "/memory/old", "memory.limit_in_bytes", "536870912\n");
	assert_true(cgroup_memory_limit(root, "0::/jobs/a/inner\n") == 1073741824);
	assert_true(cgroup_memory_limit(root, "0::/jobs\n") == 4294967296.0);
	assert_true(isinf(cgroup_memory_limit(root, "0::/\n")));
	assert_true(isinf(cgroup_memory_limit(root, "0::/absent/folder")));
	assert_true(cgroup_memory_limit(root, "5:cpu:/\n4:memory:/old/b\n0::/jobs\n") == 536870912);
	assert_true(isinf(cgroup_memory_limit(root, "")));
	assert_true(isinf(cgroup_memory_limit(root, "\n:\n::\nx")));
	assert_int_equal(remove_tree(root, NULL), OK);
}

static void this_machine_has_a_fingerprint(void **state)
{
	(void)state;
	struct machine m;
	struct err e = ERR_INIT;
	assert_int_equal(machine_read(&m, &e), OK);
	assert_true(m.cpu[0] && m.arch[0] && m.kernel[0]);
	assert_true(m.cores >= 1 && m.threads >= m.cores && m.sockets >= 1 && m.numa_nodes >= 1);
	assert_true(m.memory_bytes > 1 << 20);
}

static void only_allowed_cpus_count(void **state)
{
	(void)state;
	cpu_set_t all, one;
	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		skip();
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	struct machine m;
	enum err_code code = machine_read(&m, NULL);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(code, OK);
	assert_int_equal(m.cores, 1);
	assert_int_equal(m.threads, 1);
	assert_int_equal(m.sockets, 1);
	assert_int_equal(m.numa_nodes, 1);
}

static json_t *to_json(const struct machine *m, const struct machine_probe *probe)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	machine_to_json(m, probe, &text);
	json_t *object = json_loads(text.buf, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(object);
	return object;
}

static void json_says_it_all(void **state)
{
	(void)state;
	struct machine m = {"A \"CPU\" \xff", "x86_64", "Linux 6.1", "fma,avx2", 2, 4, 1, 1, 8e9, 3e6, true};
	struct machine_probe probe = {2.5e11, 1.25e10, 1.5, 3e8, 2, "avx2+fma"};
	json_t *object = to_json(&m, &probe);
	assert_string_equal(json_string_value(json_object_get(object, "cpu")), "A \"CPU\" \\xff");
	assert_int_equal(json_integer_value(json_object_get(object, "threads")), 4);
	assert_int_equal(json_integer_value(json_object_get(object, "memory_bytes")), 8000000000);
	assert_true(json_is_true(json_object_get(object, "virtualised")));
	json_t *inner = json_object_get(object, "probe");
	assert_int_equal(json_integer_value(json_object_get(inner, "peak_flops")), 250000000000);
	assert_true(json_real_value(json_object_get(inner, "seconds")) == 1.5);
	json_decref(object);

	object = to_json(&m, NULL);
	assert_null(json_object_get(object, "probe"));
	json_decref(object);

	probe = (struct machine_probe){.peak_flops = NAN, .bandwidth_bytes_per_s = INFINITY};
	object = to_json(&m, &probe);
	assert_true(json_is_null(json_object_get(json_object_get(object, "probe"), "peak_flops")));
	json_decref(object);
}

/* 9.1e9 parameters, 36 layers, width 4096, sequence 2048, 131,072 tokens in 8 s on 8 devices of 989e12:
 * (54.6e9 + 12 * 36 * 4096 * 2048 = 3,623,878,656) * 131,072 = 7.63152e15, over 8 * 989e12 * 8 = 6.3296e16.
 */
static void mfu_by_hand(void **state)
{
	(void)state;
	double mfu = model_flops_utilisation(9.1e9, 36, 4096, 2048, 131072, 8 * 989e12, 8);
	assert_true(fabs(mfu - 58223878656.0 * 131072 / 6.3296e16) < 1e-15);
	assert_true(fabs(mfu - 0.12057) < 1e-5);
	assert_true(isnan(model_flops_utilisation(1, 1, 1, 1, 1, 0, 1)));
	assert_true(isnan(model_flops_utilisation(1, 1, 1, 1, 1, 1, 0)));
	assert_true(isnan(model_flops_utilisation(1, 1, 1, 1, 1, NAN, 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpuinfo_of_several_machines),
		cmocka_unit_test(a_name_that_is_known_stays_and_a_long_one_is_cut),
		cmocka_unit_test(meminfo_lines),
		cmocka_unit_test(control_group_limits_hold_down_the_tree),
		cmocka_unit_test(this_machine_has_a_fingerprint),
		cmocka_unit_test(only_allowed_cpus_count),
		cmocka_unit_test(json_says_it_all),
		cmocka_unit_test(mfu_by_hand),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
