/* llm.c: "step    1/19560 | loss 11.009160 (+nanz)| norm 15.3711 (+nanz)| lr 8.57e-07 | 2621.44 ms | 53.4%
 * bf16 MFU | 200000 tok/s" of train_gpt2.cu; "| train loss .. | norm .. | lr .. | (3276.80 ms | 160000
 * tok/s)" of train_gpt2.py; "step 1/50: train loss 4.37 (80.1 ms, 12000 tok/s)" of train_gpt2_fp32.cu; "step
 * 1: train loss 5.35 (took 1850.6 ms)" of train_gpt2.c. "(+nanz)" is the outlier detector's score before it
 * has seen enough. */
#include "base/base.h"

#include <ctype.h>
#include <string.h>

#include "adapter/ascii_int.h"
#include "adapter/reader_fields_int.h"

struct llmc {
	struct opt_number total_batch_tokens, seq_len; /* of the table that it prints at the start */
	bool skip_next; /* "skipping update" is printed before the step that it is about */
};

/* The number that ends before `unit`, as in "2621.44 ms"; times ten to the power of `power`. */
static struct opt_number number_before(const char *text, const char *unit, int power)
{
	struct opt_number number = {false, 0.0};
	for (const char *at = text; !number.has && (at = strstr(at, unit)) != NULL; at++) {
		const char *p = at;
		while (p > text && (isdigit((unsigned char)p[-1]) || p[-1] == '.'))
			p--;
		if (p == at || (p > text && isalpha((unsigned char)p[-1])) || (p > text && p[-1] == '-'))
			continue;
		number.has = read_number_scaled(p, power, &number.value) > 0;
	}
	return number;
}

/* "step    1/19560 | ", "step 1/50: ", "step 1: ": behind it. */
static const char *take_head(const char *text, long *ret_step)
{
	double number, total;
	if (!begins_with(text, "step "))
		return NULL;
	size_t length = read_number(text + 5, &number);
	if (!length || !number_to_step(number, ret_step))
		return NULL;
	const char *p = text + 5 + length;
	if (*p == '/') {
		length = read_number(p + 1, &total);
		p += 1 + length;
	}
	while (*p == ' ')
		p++;
	return *p == '|' || *p == ':' ? p + 1 : NULL;
}

static bool read_step(struct reader *reader, const struct log_line *line)
{
	struct llmc *l = reader->state;
	long step;
	const char *p = take_head(line->text, &step);
	if (!p)
		return false;
	bool bars = p[-1] == '|';
	struct opt_number loss = number_of(p, "train loss");
	if (!loss.has && bars)
		loss = number_of(p, "loss");
	struct opt_number time_s = number_before(p, " ms", -3), rate = number_before(p, " tok/s", 0);
	/* "step 0: train loss 10.9, val loss 10.9" is nanoGPT's evaluation, "loss: 2.1" any loop's. */
	if (!loss.has || !(rate.has || time_s.has) ||
		(reader->noticed && (strstr(p, "val loss") || strstr(p, "loss:"))))
		return false;
	if (line->torn) {
		reader_damaged(reader, step);
		return true;
	}
	struct log_step *s = reader_step(reader, step, line);
	fill_number(&s->loss, loss);
	fill_number(&s->grad_norm, number_of(p, "norm"));
	fill_number(&s->lr, number_of(p, "lr"));
	fill_number(&s->step_time_s, time_s);
	fill_number(&s->tokens_per_s, rate);
	/* "53.4% bf16 MFU", "49.5% A100 fp16 MFU" */
	if (strstr(p, " MFU"))
		fill_number(&s->mfu_percent, number_before(p, "% ", 0));
	if (l->skip_next)
		fill_value(&s->skipped_updates, 1.0);
	l->skip_next = false;
	if (rate.has)
		reader->facts->tokens_per_s_scope = LOG_SCOPE_GLOBAL;
	return true;
}

/* "| sequence length T     | 1024    |", "| total batch size      | 524288  |": the latter in tokens. */
static bool read_table(struct reader *reader, const char *text)
{
	struct llmc *l = reader->state;
	static const char length[] = "| sequence length T", batch[] = "| total batch size";
	bool is_length = begins_with(text, length);
	if (!is_length && !begins_with(text, batch))
		return false;
	const char *p = strchr(text + 1, '|');
	double value;
	if (!p || !read_number(p + 1, &value) || value <= 0.0)
		return true;
	fill_value(is_length ? &l->seq_len : &l->total_batch_tokens, value);
	if (l->seq_len.has && l->total_batch_tokens.has) {
		reader->facts->seq_len = l->seq_len;
		fill_value(&reader->facts->global_batch, l->total_batch_tokens.value / l->seq_len.value);
	}
	return true;
}

static void llmc_line(struct reader *reader, const struct log_line *line)
{
	struct llmc *l = reader->state;
	static const char peak[] = "peak memory consumption:";
	double bytes;
	if (read_step(reader, line)) {
		reader_recognise(reader, READER_CERTAIN);
	} else if (read_table(reader, line->text)) {
		reader_recognise(reader, 1);
	} else if (begins_with(line->text, "skipping update due to ")) {
		l->skip_next = true;
	} else if (begins_with(line->text, peak)) {
		/* torch.cuda.max_memory_allocated() // 1024 // 1024 */
		if (read_memory(line->text + sizeof(peak) - 1, true, &bytes))
			reader_peak_memory(reader, bytes, "allocated");
	} else if (begins_with(line->text, "final ") && strstr(line->text, " iters avg: ")) {
		reader_completed(reader, true);
	} else if (begins_with(line->text, "total average iteration time:")) {
		reader_completed(reader, true);
	} else if (begins_with(line->text, "allocat") && strstr(line->text, " MiB for ")) {
		reader_recognise(reader, 1);
	} else if (reader->noticed && strstr(line->text, "[CUDA ERROR] at file ")) {
		reader_recognise(reader, 1);
	}
}

static const char *const anchors[] = {"loss ", "| sequence length t", "| total batch size",
	"skipping update due to ",
	"peak memory consumption:", " iters avg: ", "total average iteration time:", " mib for ",
	"[cuda error] at file ", NULL};

static const char *const notices[] = {"val loss", "loss:", "[cuda error] at file ", NULL};

const struct reader_ops reader_llmc = {
	"llm.c", anchors, notices, sizeof(struct llmc), llmc_line, NULL, READER_TRAINER};
