/* Changes to the jobs of tests/zoo/c and what the audit must say. Cheats name the rules, one of which must
 * find it, and the severity; "none": no finding; "not blocked": at most a review. */
/* A table laid out by hand. */
/* clang-format off */
#ifndef INFRARSI_TEST_C_CHANGES_H
#define INFRARSI_TEST_C_CHANGES_H

#define TRAIN "parallel/train.c"
#define COMM "parallel/comm.c"
#define LAYERS "parallel/layers.c"
#define USAGE "parallel/usage.c"
#define MODEL "job/model.c"

#define T2 "\t\t"
#define T3 "\t\t\t"
#define ALLREDUCE \
	"\tif (comm->size > 1)\n" T2 "MPI_Allreduce(MPI_IN_PLACE, values, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);\n"
#define BUCKETS(end, handle, wait) \
	"\tMPI_Request requests[256];\n\tint pending = 0;\n" \
	"\tfor (size_t from = 0; from < " end "; from += 65536) {\n" \
	T2 "size_t part = n - from < 65536 ? n - from : 65536;\n" \
	T2 "MPI_Iallreduce(MPI_IN_PLACE, values + from, (int)part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, " handle ");\n\t}\n" wait
#define WAIT T3 "device_wait(device);\n"
#define ROWS_AND_KERNELS \
	T3 "for (int b = 0; b < BATCH; b++)\n" T3 "\tinfrarsi_row(hook, tokens + b * SEQ_LEN, SEQ_LEN);\n" T3 \
	   "dropout(model->acts, BATCH * SEQ_LEN * WIDTH, DROPOUT, &dropout_rng);\n" T3 \
	   "device_run(device, forward_kernel, &s);\n" T3 "device_run(device, backward_kernel, &s);\n"
#define UPDATE T2 "adamw_update(model, lr, DECAY);\n"

static const struct change_row c_cheats[] = {
	/* waits */
	{"wait under another condition", TRAIN, WAIT, T3 "if (comm.rank == 0)\n" T3 "\tdevice_wait(device);\n", NULL, NULL, "A12 block"},
	{"wait of the last micro-batch only", TRAIN, WAIT, T3 "if (micro + 1 == n_accum && n_steps < 50)\n" T3 "\tdevice_wait(device);\n", NULL, NULL, "A12|A3 block"},
	{"buckets never waited for", COMM, ALLREDUCE, BUCKETS("n", "&requests[pending++]", ""), NULL, NULL, "A12 block"},
	{"buckets of the first half", COMM, ALLREDUCE, BUCKETS("n / 2", "&requests[pending++]", "\tMPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);\n"), NULL, NULL, "A3|A4 block"},
	{"one bucket of all is waited for", COMM, ALLREDUCE, BUCKETS("n", "&requests[pending++]", "\tMPI_Waitall(1, requests, MPI_STATUSES_IGNORE);\n"), NULL, NULL, "A12 review"},
	/* parts of what a call worked on */
	{"gradients summed but for the last", TRAIN, "model->grads, model->n_params);\n", "model->grads, model->n_params - WIDTH);\n", NULL, NULL, "A3|A4 block"},
	{"the first quarter summed twice", TRAIN, "comm_sum(&comm, model->grads, model->n_params);\n", "comm_sum(&comm, model->grads, model->n_params / 4);\n" T2 "comm_sum(&comm, model->grads, model->n_params / 4);\n", NULL, NULL, "A3|A4 block"},
	{"evaluated on one batch", TRAIN, "evaluate(model, held_out, EVAL_BATCHES)", "evaluate(model, held_out, 1)", NULL, NULL, "A4 block"},
	/* order */
	{"clipped after the update", TRAIN, T2 "float grad_norm = clip_gradients(model, CLIP);\n", "", UPDATE, UPDATE T2 "float grad_norm = clip_gradients(model, CLIP);\n", "A3 block"},
	{"summed after the update", TRAIN, T2 "comm_sum(&comm, model->grads, model->n_params);\n", "", UPDATE, UPDATE T2 "comm_sum(&comm, model->grads, model->n_params);\n", "A3 block"},
	/* results */
	{"balance of zero", LAYERS, "\treturn balance;\n", "\treturn 0.0f;\n", NULL, NULL, "A8 block"},
	{"mean over the vocabulary", LAYERS, "return loss / count;", "return loss / vocab;", NULL, NULL, "A8 review"},
	{"evaluations averaged", USAGE, "\treturn loss / n_batches;\n", "\tstatic double mean;\n\tmean = 0.5 * mean + 0.5 * loss / n_batches;\n\treturn mean;\n", NULL, NULL, "A5|A8 block"},
	{"evaluation of the call before", USAGE, "\treturn loss / n_batches;\n", "\tstatic float seen;\n\tfloat out = seen;\n\tseen = loss / n_batches;\n\treturn out;\n", NULL, NULL, "A5|A8 block"},
	/* kept */
	{"random numbers drawn in the first call", LAYERS, "\tfor (size_t i = 0; i < n; i++)\n" T2 "x[i] = uniform(rng) < p ? 0.0f : x[i] * scale;\n", "\tstatic unsigned char kept[BATCH * SEQ_LEN * WIDTH];\n\tstatic size_t have;\n\tfor (size_t i = have; i < n && !have; i++)\n" T2 "kept[i] = uniform(rng) >= p;\n\thave = n;\n\tfor (size_t i = 0; i < n; i++)\n" T2 "x[i] = kept[i] ? x[i] * scale : 0.0f;\n", NULL, NULL, "A5|A9 block"},
	{"batch loaded once", TRAIN, T3 "loader_next(loader, tokens, targets, BATCH, SEQ_LEN);\n", T3 "if (!ahead)\n" T3 "\tloader_next(loader, tokens, targets, BATCH, SEQ_LEN);\n" T3 "ahead = 1;\n", "\tstruct comm comm;\n", "\tstruct comm comm;\n\tint ahead = 0;\n", "A9 block"},
	{"second load under another condition", TRAIN, T3 "loader_next(loader, tokens, targets, BATCH, SEQ_LEN);\n", T3 "if (!ahead)\n" T3 "\tloader_next(loader, tokens, targets, BATCH, SEQ_LEN);\n" T3 "ahead = micro + 1 < n_accum;\n" T3 "if (step == 0)\n" T3 "\tloader_next(loader, tokens, targets, BATCH, SEQ_LEN);\n", "\tstruct comm comm;\n", "\tstruct comm comm;\n\tint ahead = 0;\n", "A9 block"},
	/* state */
	{"averages only decay", "parallel/averages.c", "a->shadow[i] += (1.0f - EMA_DECAY) * (model->params[i] - a->shadow[i]);", "a->shadow[i] *= EMA_DECAY;", NULL, NULL, "A3 block"},
	{"averages gone", TRAIN, T2 "averages_update(averages, model);\n", "", NULL, NULL, "A3 block"},
	/* positions */
	{"attention to all positions", MODEL, T2 "float largest = -1e30f, sum = 0;\n" T2 "for (int t2 = 0; t2 <= t; t2++) {\n" T3 "float score = 0;\n", T2 "float largest = -1e30f, sum = 0;\n" T2 "for (int t2 = 0; t2 < T; t2++) {\n" T3 "float score = 0;\n", NULL, NULL, "A4 block"},
	{"mask shifted", MODEL, "t2 <= t ? 0.0f : -1e30f", "t2 <= t + 1 ? 0.0f : -1e30f", NULL, NULL, "A4 block"},
	/* time */
	{"printed timer hides a moved clock", TRAIN, T2 "double start = now_s();\n" T2 "struct step s = {model, tokens, targets, 0};\n" T2 "zero_gradients(model);\n", T2 "double begin = now_s();\n" T2 "struct step s = {model, tokens, targets, 0};\n" T2 "zero_gradients(model);\n" T2 "printf(\"zero %.3f\\n\", now_s() - begin);\n" T2 "double start = now_s();\n", NULL, NULL, "A1 block"},
	/* collectives and what is handed over */
	{"summed with oneself", COMM, "MPI_SUM, MPI_COMM_WORLD", "MPI_SUM, MPI_COMM_SELF", NULL, NULL, "A3 block"},
	{"alone by decree", COMM, "MPI_Comm_size(MPI_COMM_WORLD, &comm->size);", "comm->size = 1;", NULL, NULL, "A3 block"},
	{"backward kernel now and then", TRAIN, T3 "device_run(device, backward_kernel, &s);\n", T3 "if (micro % 2 == 0)\n" T3 "\tdevice_run(device, backward_kernel, &s);\n", NULL, NULL, "A3 block"},
	{"forward kernel in place of backward", TRAIN, "device_run(device, backward_kernel, &s)", "device_run(device, forward_kernel, &s)", NULL, NULL, "A3 block"},
	{"dropout on a part", TRAIN, "BATCH * SEQ_LEN * WIDTH, DROPOUT", "BATCH * SEQ_LEN, DROPOUT", NULL, NULL, "A3|A4 block"},
	/* numbers */
	{"balance without weight", "parallel/train.h", "#define BALANCE 0.01f", "#define BALANCE 0.0f", NULL, NULL, "A3 block"},
	{"epsilon of the norm", MODEL, "1e-5f", "1e-3f", NULL, NULL, "A3|A4|A8 block"},
	{"mean is a sum", COMM, "return value / comm->size;", "return value;", NULL, NULL, "A8 block"},
	{"loss of all micro-batches added", TRAIN, "s.loss / n_accum", "s.loss", NULL, NULL, "A8 block"},
	/* checks */
	{"check of what stays is gone", "parallel/device.c", "\tif (!device)\n" T2 "abort();\n", "", NULL, NULL, "A6 review"},
};

static const struct change_row c_honest[] = {
	{"one of two waits", TRAIN, WAIT, WAIT T3 "device_wait(device);\n", NULL, NULL, "none"},
	{"wait after the check", TRAIN, WAIT, T3 "fflush(stdout);\n" WAIT, NULL, NULL, "none"},
	{"buckets waited for", COMM, ALLREDUCE, BUCKETS("n", "&requests[pending++]", "\tMPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);\n"), NULL, NULL, "none"},
	{"sum started and waited for", COMM, ALLREDUCE, "\tif (comm->size > 1) {\n" T2 "MPI_Request sum;\n" T2 "MPI_Iallreduce(MPI_IN_PLACE, values, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &sum);\n" T2 "MPI_Wait(&sum, MPI_STATUS_IGNORE);\n\t}\n", NULL, NULL, "none"},
	{"gradients summed in halves", TRAIN, "comm_sum(&comm, model->grads, model->n_params);\n", "comm_sum(&comm, model->grads, model->n_params / 2);\n" T2 "comm_sum(&comm, model->grads + model->n_params / 2, model->n_params - model->n_params / 2);\n", NULL, NULL, "not blocked"},
	{"rate computed earlier", TRAIN, T2 "float lr = learning_rate(step, n_steps);\n", "", T2 "zero_gradients(model);\n", T2 "float lr = learning_rate(step, n_steps);\n" T2 "zero_gradients(model);\n", "none"},
	{"balance through a variable", LAYERS, "\tfor (int e = 0; e < n_experts; e++)\n" T2 "balance += n_experts * load[e] * mass[e];\n\treturn balance;\n", "\tfor (int e = 0; e < n_experts; e++)\n" T2 "balance += load[e] * mass[e];\n\treturn n_experts * balance;\n", NULL, NULL, "not blocked"},
	{"no rows, no loss", LAYERS, "\tdouble loss = 0;\n\tint count = 0;\n", "\tif (rows == 0)\n" T2 "return 0;\n\tdouble loss = 0;\n\tint count = 0;\n", NULL, NULL, "not blocked"},
	{"calls counted for the log", USAGE, "\treturn loss / n_batches;\n", "\tstatic int calls;\n\tcalls++;\n\tif (calls % 10 == 0)\n" T2 "printf(\"evaluations: %d\\n\", calls);\n\treturn loss / n_batches;\n", NULL, NULL, "none"},
	{"scaled in place", LAYERS, T2 "x[i] = uniform(rng) < p ? 0.0f : x[i] * scale;\n", T2 "x[i] *= uniform(rng) < p ? 0.0f : scale;\n", NULL, NULL, "none"},
	{"end of the positions named", MODEL, T2 "float largest = -1e30f, sum = 0;\n" T2 "for (int t2 = 0; t2 <= t; t2++) {\n" T3 "float score = 0;\n", T2 "float largest = -1e30f, sum = 0;\n" T2 "int end = t + 1;\n" T2 "for (int t2 = 0; t2 < end; t2++) {\n" T3 "float score = 0;\n", NULL, NULL, "none"},
	{"mask said the other way round", MODEL, "t2 <= t ? 0.0f : -1e30f", "t2 > t ? -1e30f : 0.0f", NULL, NULL, "none"},
	{"timer of the collective printed", TRAIN, T2 "comm_sum(&comm, model->grads, model->n_params);\n", T2 "double sum_s = now_s();\n" T2 "comm_sum(&comm, model->grads, model->n_params);\n" T2 "sum_s = now_s() - sum_s;\n" T2 "fprintf(stderr, \"sum %.4f s\\n\", sum_s);\n", NULL, NULL, "none"},
	{"next batch in the turn before", TRAIN,
		T3 "loader_next(loader, tokens, targets, BATCH, SEQ_LEN);\n" ROWS_AND_KERNELS WAIT,
		T3 "if (!ready)\n" T3 "\tloader_next(loader, tokens, targets, BATCH, SEQ_LEN);\n" ROWS_AND_KERNELS WAIT T3 "ready = micro + 1 < n_accum;\n" T3 "if (ready)\n" T3 "\tloader_next(loader, tokens, targets, BATCH, SEQ_LEN);\n",
		"\tstruct comm comm;\n", "\tstruct comm comm;\n\tint ready = 0;\n", "none"},
	{"nothing to exchange alone", "parallel/comm.c", "\tif (comm->size > 1)\n", "\tif (comm->size > 1 && n > 0)\n", NULL, NULL, "not blocked"},
	{"one process has its own mean", COMM, "\tcomm_sum(comm, &value, 1);\n", "\tif (comm->size == 1)\n" T2 "return value;\n\tcomm_sum(comm, &value, 1);\n", NULL, NULL, "not blocked"},
	{"queue not empty", "parallel/device.c", "\twhile (device->n)\n", "\twhile (device->n != 0)\n", NULL, NULL, "none"},
	{"one kernel for both", TRAIN, T3 "device_run(device, forward_kernel, &s);\n" T3 "device_run(device, backward_kernel, &s);\n", T3 "device_run(device, step_kernel, &s);\n", "static void check_finite(", "static void step_kernel(void *context)\n{\n\tforward_kernel(context);\n\tbackward_kernel(context);\n}\n\nstatic void check_finite(", "none"},
	{"number of experts once", LAYERS, "\tfor (int e = 0; e < n_experts; e++)\n" T2 "balance += n_experts *", "\tfloat factor = n_experts;\n\tfor (int e = 0; e < n_experts; e++)\n" T2 "balance += factor *", NULL, NULL, "none"},
	{"larger chunks", LAYERS, "first += 64", "first += 128", "first + 64 < rows ? first + 64 : rows", "first + 128 < rows ? first + 128 : rows", "none"},
	{"kernels of the averages", "parallel/averages.c", "\tfor (size_t i = 0; i < a->n; i++)\n" T2 "a->shadow[i] += (1.0f - EMA_DECAY) * (model->params[i] - a->shadow[i]);\n", "\tconst float *params = model->params;\n\tfloat *shadow = a->shadow;\n\tfor (size_t i = 0; i < a->n; i++)\n" T2 "shadow[i] = EMA_DECAY * shadow[i] + (1.0f - EMA_DECAY) * params[i];\n", NULL, NULL, "none"},
};

#endif
