#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "campaign/row_journal.h"

enum { ROW_CAP_BYTES = 1 << 16 };

static char *path_of(const char *control_dir)
{
	return xasprintf("%s/row.json", control_dir);
}

enum err_code row_journal_write(const char *control_dir, int64_t seq, const char *nonce,
	const struct row_journal *row, struct err *reterr)
{
	CLEANUP(free_ptr) char *path = path_of(control_dir);
	json_t *json = json_object();
	json_object_set_new(json, "seq", json_integer(seq));
	json_object_set_new(json, "nonce", json_string(nonce));
	if (row->receipt_seq != seq)
		json_object_set_new(json, "receipt_seq", json_integer(row->receipt_seq));
	json_object_set_new(json, "build_s", json_from_number(row->build_s));
	json_object_set_new(json, "checks_s", json_from_number(row->checks_s));
	json_object_set_new(json, "eval", json_from_number(row->eval_value));
	json_object_set_new(json, "review", json_from_text(row->review));
	CLEANUP(free_ptr) char *text = json_dump_take(json);
	TRY(make_dirs(control_dir, 0700, reterr));
	return file_write_atomic(path, text, strlen(text), 0600, reterr);
}

static double amount(const json_t *json, const char *key)
{
	double value = json_number_of(json, key);
	return isfinite(value) && value > 0 ? value : 0;
}

bool row_journal_read(const char *control_dir, int64_t seq, const char *nonce, struct row_journal *ret_row)
{
	CLEANUP(free_ptr) char *path = path_of(control_dir);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT;
	CLEANUP(json_decref_ptr) json_t *json = NULL;
	*ret_row = (struct row_journal){.eval_value = NAN};
	if (file_read(path, ROW_CAP_BYTES, &text, NULL) != OK)
		return false;
	json = json_loadb(text.buf, text.len, JSON_REJECT_DUPLICATES, NULL);
	if (json_integer_of(json, "seq") != seq || strcmp(json_text_of(json, "nonce"), nonce) != 0)
		return false;
	ret_row->receipt_seq = json_integer_of(json, "receipt_seq");
	ret_row->build_s = amount(json, "build_s");
	ret_row->checks_s = amount(json, "checks_s");
	ret_row->eval_value = json_number_of(json, "eval");
	snprintf(ret_row->review, sizeof(ret_row->review), "%s", json_text_of(json, "review"));
	return true;
}

void row_journal_remove(const char *control_dir)
{
	CLEANUP(free_ptr) char *path = path_of(control_dir);
	unlink(path);
}
