/* A task file for tests and fuzz targets that need one with everything in it. */
#ifndef TESTS_UNIT_SPEC_REALISTIC_TASK_H
#define TESTS_UNIT_SPEC_REALISTIC_TASK_H

/* A native C job with every kind of knob: 8 devices, so data_parallel is 8 and micro_batch 1 needs
 * 64 / (1 * 8) = 8 accumulation steps. */
#define REALISTIC_TASK                                                                                       \
	"version: 1\n"                                                                                       \
	"name: gpt-dense\n"                                                                                  \
	"stack: native\n"                                                                                    \
	"build: [make, -j2, 'OPT={opt_level}', 'ACC={grad_accum}']\n"                                        \
	"build_env: {CC: gcc}\n"                                                                             \
	"launch:\n"                                                                                          \
	"  command: [./train, --batch, '{micro_batch}', '--accum={grad_accum}', '{recompute_flag}',\n"       \
	"            --steps, '{updates}', '--note={{x}}']\n"                                                \
	"  env: {OMP_NUM_THREADS: '{threads}', COMPILE: '{compile}', LIGER: '{liger}'}\n"                    \
	"  pass_env: [HF_TOKEN]\n"                                                                           \
	"  devices_per_node: 8\n"                                                                            \
	"contract:\n"                                                                                        \
	"  updates: 30\n"                                                                                    \
	"  warmup: 10\n"                                                                                     \
	"  global_batch: 64\n"                                                                               \
	"  seq_len: 2048\n"                                                                                  \
	"  invariants: [micro_batch * grad_accum * data_parallel == global_batch]\n"                         \
	"  loss: {tolerance: 2%, rule: per_update}\n"                                                        \
	"  precision: [fp32, bf16]\n"                                                                        \
	"  memory_cap: 78GiB\n"                                                                              \
	"  frozen_files: ['data/**', eval.c]\n"                                                              \
	"  editable_files: [train.c]\n"                                                                      \
	"knobs:\n"                                                                                           \
	"  - {name: micro_batch, values: [1, 2, 4, 8], reference: 1, ordered: true}\n"                       \
	"  - name: recompute\n"                                                                              \
	"    values: [full, selective, off]\n"                                                               \
	"    reference: full\n"                                                                              \
	"    flag: {full: --recompute full, selective: --recompute=some, off: ''}\n"                         \
	"    prior: {off: {speedup: 8%, memory: +18GiB}, selective: {speedup: -2%}}\n"                       \
	"    phases: [backward]\n"                                                                           \
	"  - {name: opt_level, values: ['-O2', '-O3'], reference: '-O2', mechanism: compiler_flags}\n"       \
	"  - {name: threads, values: [1, 2, 4], reference: 2}\n"                                             \
	"  - {name: compile, values: [off, on], reference: off}\n"                                           \
	"  - {name: liger, values: [off, on], reference: off}\n"                                             \
	"derived: {grad_accum: 'global_batch // (micro_batch * data_parallel)'}\n"                           \
	"conflicts: [\"compile == 'on' and liger == 'on'\"]\n"                                               \
	"starts: [{micro_batch: 4, recompute: off}]\n"                                                       \
	"budget: {trials: 9, gpu_hours: 8, wall: 6h}\n"

#endif
