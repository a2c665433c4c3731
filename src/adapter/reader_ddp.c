/* Any training loop of one's own, PyTorch DDP being the usual one: key=value step lines (key_value.c). Also
 * tells PyTorch by what it prints about itself. */
#include "base/base.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "adapter/ascii_int.h"
#include "adapter/key_value_int.h"
#include "adapter/reader_fields_int.h"

struct loop {
	bool done_seen, any;
	unsigned known;                   /* slots of the step read last */
	double first_tokens, last_tokens; /* as printed: an update's, or all so far */
	long n_tokens;
	bool tokens_rise, tokens_vary;
	struct line_form form;
};

static double rounded(double value)
{
	return round(value * 1e3) / 1e3;
}

static void derive_rate(struct reader *reader, struct log_step *s, double tokens)
{
	if (s->tokens_per_s.has || !s->step_time_s.has || !(s->step_time_s.value > 0.0) || !isfinite(tokens))
		return;
	fill_value(&s->tokens_per_s, rounded(tokens / s->step_time_s.value));
	reader->facts->tokens_per_s_derived = true;
	reader->facts->tokens_per_s_scope = LOG_SCOPE_GLOBAL;
}

/* Whether "tokens" are of the update or of the run so far is known only from several steps. */
static void take_tokens(struct reader *reader, struct log_step *s, double tokens)
{
	struct loop *l = reader->state;
	if (l->n_tokens == 0) {
		l->first_tokens = tokens;
		l->tokens_rise = true;
	} else {
		l->tokens_vary |= tokens != l->first_tokens;
		l->tokens_rise = l->tokens_rise && tokens > l->last_tokens;
	}
	l->last_tokens = tokens;
	l->n_tokens++;
	/* The first figure is both: the run's so far and the update's. */
	if (l->n_tokens == 1 || !l->tokens_rise)
		s->tokens = (struct opt_number){true, tokens};
	if (l->n_tokens > 1 && l->tokens_rise)
		fill_value(&s->tokens_seen, tokens);
	else
		derive_rate(reader, s, tokens);
}

static bool is_step(const struct key_value_line *kv)
{
	const unsigned pace = 1u << KEY_STEP_TIME_S | 1u << KEY_TOKENS | 1u << KEY_TOKENS_PER_S;
	if (!(kv->known & 1u << KEY_STEP) || kv->evaluation)
		return false;
	if (kv->known & 1u << KEY_LOSS)
		return kv->n_assigned > 0 || kv->n_known > 2;
	return kv->step_equals && kv->n_assigned > 1 && (kv->known & pace);
}

static void add_step(
	struct reader *reader, long step, const struct key_value_line *kv, const struct log_line *line)
{
	struct loop *l = reader->state;
	struct log_step *s = reader_step(reader, step, line);
	bool is_new = !s->loss.has && !s->step_time_s.has;
	const struct opt_number *v = kv->values;
	fill_number(&s->loss, v[KEY_LOSS]);
	fill_number(&s->grad_norm, v[KEY_GRAD_NORM]);
	fill_number(&s->lr, v[KEY_LR]);
	fill_number(&s->step_time_s, v[KEY_STEP_TIME_S]);
	fill_number(&s->samples_per_s, v[KEY_SAMPLES_PER_S]);
	fill_number(&s->mfu_percent, v[KEY_MFU_PERCENT]);
	fill_number(&s->tokens_seen, v[KEY_TOKENS_SEEN]);
	fill_number(&s->tokens_per_s, v[KEY_TOKENS_PER_S]);
	if (v[KEY_TOKENS_PER_S].has)
		reader->facts->tokens_per_s_scope = LOG_SCOPE_GLOBAL;
	if (v[KEY_MEM_BYTES].has) {
		fill_largest(&s->mem_bytes, v[KEY_MEM_BYTES].value);
		reader->facts->mem_kind = kv->mem_kind;
	}
	if (is_new && v[KEY_TOKENS].has)
		take_tokens(reader, s, v[KEY_TOKENS].value);
	l->known = kv->known;
	l->any = true;
}

/* The rest of a record that another writer cut: the step that was read last has lost these values. */
static void drop_torn(struct reader *reader, const struct key_value_line *kv)
{
	struct loop *l = reader->state;
	struct log_step *last = reader_last_step(reader);
	if (kv->continues && kv->n_assigned > 1 && last && !(kv->known & l->known))
		reader_drop_step(reader, last->step);
}

static bool read_step(struct reader *reader, const struct log_line *line)
{
	struct loop *l = reader->state;
	struct key_value_line kv;
	long step;
	/* MLPerf's events are JSON, too, and their steps are samples (reader_mllog.c). */
	if (reader->noticed && strstr(line->text, ":::MLLOG"))
		return false;
	key_value_read(line->text, &l->form, &kv);
	if (!(kv.known & 1u << KEY_STEP)) {
		drop_torn(reader, &kv);
		return false;
	}
	if (!number_to_step(kv.values[KEY_STEP].value, &step))
		return false;
	bool half = line->unended && l->any && (l->known & ~kv.known);
	if (line->torn || kv.torn || half) {
		if (l->any || is_step(&kv))
			reader_damaged(reader, step);
		return false;
	}
	if (!is_step(&kv))
		return false;
	add_step(reader, step, &kv, line);
	reader_recognise(reader, kv.n_known > 2 ? READER_CERTAIN : 1);
	return true;
}

/* "done", "Training finished." */
static bool says_done(const char *text)
{
	static const char *const words[] = {"done", "finished", "all done"};
	static const char *const ends[] = {"training done", "training complete", "training completed",
		"training finished", "finished training"};
	size_t n = strlen(text);
	while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '.' || text[n - 1] == '!'))
		n--;
	if (n > 3 && begins_with(text + n, "..."))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (n == strlen(words[i]) && strncasecmp(text, words[i], n) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t length = strlen(ends[i]);
		if (n >= length && strncasecmp(text + n - length, ends[i], length) == 0)
			return n == length || !isalnum((unsigned char)text[n - length - 1]);
	}
	return false;
}

static bool tells_pytorch(const char *text)
{
	const char *torch = strstr(text, "torch");
	if (torch && (strstr(torch, "torch._dynamo") || strstr(torch, "torch/_dynamo") ||
			     strstr(torch, "torch._inductor") || strstr(torch, "torch/_inductor")))
		return true;
	return strstr(text, "DistributedDataParallel") != NULL;
}

static void ddp_line(struct reader *reader, const struct log_line *line)
{
	struct loop *l = reader->state;
	if (read_step(reader, line)) {
		/* What was done before was something else. */
		l->done_seen = false;
		reader->facts->completed.has = false;
	} else if (!reader->noticed) {
		return;
	} else if (says_done(line->text)) {
		l->done_seen = true;
		reader_completed(reader, true);
	} else if (tells_pytorch(line->text)) {
		reader_recognise(reader, 1);
	}
}

static void settle_tokens(struct reader *reader)
{
	struct loop *l = reader->state;
	struct log_summary *facts = reader->facts;
	bool running_total =
		l->tokens_rise &&
		(l->n_tokens > 2 || (l->n_tokens == 2 && l->last_tokens >= 1.9 * l->first_tokens));
	if (l->n_tokens == 0)
		return;
	for (size_t i = 0; !running_total && i < facts->n_steps; i++) {
		struct log_step *s = &facts->steps[i];
		if (s->tokens_seen.has)
			derive_rate(reader, s, s->tokens_seen.value);
		s->tokens_seen.has = false;
	}
	if (!running_total) {
		if (!l->tokens_vary)
			facts->tokens_per_update = (struct opt_number){true, l->first_tokens};
		return;
	}
	struct log_step *first = facts->n_steps ? &facts->steps[0] : NULL;
	if (first && facts->tokens_per_s_derived) {
		first->tokens_per_s.has = false;
		fill_value(&first->tokens_seen, l->first_tokens);
		facts->tokens_per_s_derived = false;
		facts->tokens_per_s_scope = LOG_SCOPE_UNKNOWN;
	}
}

static void ddp_finish(struct reader *reader)
{
	struct log_summary *facts = reader->facts;
	settle_tokens(reader);
	for (size_t i = 0; i < facts->n_steps; i++)
		if (facts->steps[i].step == 0 && reader_find_step(reader, 0))
			facts->step_base = (struct opt_number){true, 0.0};
}

#define NOTICES                                                                                              \
	"done", "finished", "training complete", "torch._dynamo", "torch/_dynamo", "torch._inductor",        \
		"torch/_inductor", "distributeddataparallel"
static const char *const anchors[] = {"loss=", "loss:", "loss ",
	"loss\":", "loss':", "step=", "grad_norm=", "tokens=", " dt=", NOTICES, NULL};
static const char *const notices[] = {NOTICES, ":::mllog", NULL};

const struct reader_ops reader_ddp = {
	"ddp", anchors, notices, sizeof(struct loop), ddp_line, ddp_finish, READER_LOOP};
