#include "spec_helpers.h"

#define TASK(launch)                                                                                         \
	"version: 1\nname: x\nlaunch:\n  command: [./t, '{a}']\n" launch                                     \
	"contract: {updates: 5}\nknobs: [{name: a, values: [1, 2], reference: 1}]\n"

static void test_slots_are_read(void **state)
{
	(void)state;
	struct task task;
	parse_task(TASK("  devices_per_node: 2\n"
			"  device_slots: [{devices: [0, 1], cpus: 0-3}, {devices: [GPU-8f3c, 3], cpus: "
			"'4-6,12'}]\n"
			"  slot_env: [HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES]\n"),
		&task);
	assert_int_equal(task.launch.n_slots, 2);
	assert_int_equal(task.launch.slots[1].devices.count, 2);
	assert_string_equal(task.launch.slots[1].devices.items[0], "GPU-8f3c");
	assert_string_equal(task.launch.slots[1].cpus, "4-6,12");
	assert_int_equal(task.launch.slot_env.count, 2);
	task_release(&task);
	parse_task(TASK("  device_slots: [[0], [1], [2]]\n"), &task);
	assert_int_equal(task.launch.n_slots, 3);
	assert_string_equal(task.launch.slots[2].devices.items[0], "2");
	assert_null(task.launch.slots[2].cpus);
	assert_int_equal(task.launch.slot_env.count, 1);
	assert_string_equal(task.launch.slot_env.items[0], "CUDA_VISIBLE_DEVICES");
	task_release(&task);
	parse_task(TASK(""), &task);
	assert_int_equal(task.launch.n_slots, 0);
	task_release(&task);
}

static void test_mistakes(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} cases[] = {
		{TASK("  device_slots: [[0], [0]]\n"), "infrarsi.yaml:5:23: launch.device_slots: device '0' "
						       "is named twice: no two trials share "
						       "one"},
		{TASK("  devices_per_node: 2\n  device_slots: [[0, 0], [1, 2]]\n"),
			"infrarsi.yaml:6:18: launch.device_slots: device '0' is named twice: no two trials "
			"share "
			"one"},
		{TASK("  device_slots: [[0, 1]]\n"),
			"infrarsi.yaml:5:18: launch.device_slots: this slot has 2 devices, "
			"launch.devices_per_node says 1"},
		{TASK("  device_slots: [[0], {cpus: '1'}]\n"),
			"infrarsi.yaml:5:23: launch.device_slots: slots must be alike: this one has another "
			"number "
			"of devices than the first"},
		{TASK("  device_slots: [{cpus: 0-1}, {cpus: '2'}]\n"),
			"infrarsi.yaml:5:31: launch.device_slots: slots must be alike: this one has another "
			"number "
			"of cpus than the first"},
		{TASK("  device_slots: [{cpus: 0-3}, {cpus: 3-6}]\n"),
			"infrarsi.yaml:5:31: launch.device_slots: cpus 3-6: some are another slot's, too: no "
			"two "
			"trials share one"},
		{TASK("  device_slots: [{cpus: 3-0}]\n"),
			"infrarsi.yaml:5:18: launch.device_slots: cpus: expected a list such as 0-3,8 (below "
			"1024), got '3-0'"},
		{TASK("  device_slots: [[]]\n"),
			"infrarsi.yaml:5:18: launch.device_slots: names neither devices nor cpus"},
		{TASK("  device_slots: [['0,1']]\n"),
			"infrarsi.yaml:5:18: launch.device_slots: '0,1' is not one device"},
		{TASK("  device_slots: [{device: [0]}]\n"),
			"infrarsi.yaml:5:19: unknown key 'device' in launch.device_slots (did you mean "
			"'devices'?)"},
		{TASK("  env: {CUDA_VISIBLE_DEVICES: '0'}\n  device_slots: [[0]]\n"),
			"infrarsi.yaml:5:31: launch.env: CUDA_VISIBLE_DEVICES is given by "
			"launch.device_slots "
			"(launch.slot_env)"},
		{TASK("  slot_env: [INFRARSI_SLOT]\n"), "infrarsi.yaml:5:14: launch.slot_env: "
							"'INFRARSI_SLOT': names that begin with INFRARSI_ "
							"are set by infrarsi itself"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char message[2048];
		assert_string_equal(task_message(cases[i].text, message, sizeof(message)), cases[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots_are_read),
		cmocka_unit_test(test_mistakes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
