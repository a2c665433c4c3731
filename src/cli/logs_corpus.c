#include "base/base.h"

#include <stdio.h>
#include <string.h>

#include "adapter/log_case.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "cli/cli.h"
#include "cli/logs_text.h"

struct corpus {
	struct log_literals *literals;
	json_t *rows;
	struct strbuf text;
	size_t n, n_agreeing;
};

static enum err_code check_case(struct corpus *c, const char *path, const char *name, struct err *reterr)
{
	CLEANUP(strbuf_release) struct strbuf disagreements = STRBUF_INIT;
	size_t count = 0;
	TRY(log_case_compare(path, c->literals, &disagreements, &count, reterr));
	json_t *row = json_object();
	json_object_set_new(row, "case", json_from_text(name));
	json_object_set_new(row, "agrees", json_boolean(count == 0));
	json_object_set_new(row, "disagreements", json_from_text(disagreements.buf));
	json_array_append_new(c->rows, row);
	c->n++;
	c->n_agreeing += count == 0;
	if (count == 0)
		return OK;
	strbuf_add_escaped(&c->text, name, strlen(name));
	strbuf_addf(&c->text, "\n%s", disagreements.buf);
	return OK;
}

static enum err_code check_all(struct corpus *c, const char *folder, struct err *reterr)
{
	char **names = NULL;
	size_t count = 0;
	enum err_code code = OK;
	if (!path_is_dir(folder))
		return err_set(reterr, ERR_NOT_FOUND, "logs: %s is no folder", folder);
	TRY(glob_files(folder, "**.log", &names, &count, reterr));
	for (size_t i = 0; code == OK && i < count; i++) {
		CLEANUP(free_ptr) char *path = xasprintf("%s/%s", folder, names[i]);
		code = check_case(c, path, names[i], reterr);
	}
	free_strings(names, count);
	if (code == OK && count == 0)
		return err_set(reterr, ERR_NOT_FOUND, "logs: no *.log below %s", folder);
	return code;
}

static void print_json(struct corpus *c)
{
	json_t *json = json_object();
	json_object_set(json, "cases", c->rows);
	json_object_set_new(json, "agreeing", json_integer((json_int_t)c->n_agreeing));
	json_object_set_new(json, "total", json_integer((json_int_t)c->n));
	CLEANUP(free_ptr) char *dump = json_dump_pretty_take(json);
	printf("%s\n", dump);
}

int logs_corpus(const struct common_options *common, const char *folder)
{
	struct err e = ERR_INIT;
	struct corpus c = {.literals = log_literals_new(), .rows = json_array(), .text = STRBUF_INIT};
	int exit_code;
	if (check_all(&c, folder, &e) != OK) {
		exit_code = cli_fail(common, &e);
	} else {
		exit_code = c.n_agreeing == c.n ? 0 : 1;
		strbuf_addf(&c.text, "logs: %zu of %zu cases agree\n", c.n_agreeing, c.n);
		if (common->json)
			print_json(&c);
		else
			cli_print(&c.text);
	}
	strbuf_release(&c.text);
	json_decref(c.rows);
	log_literals_free(c.literals);
	return exit_code;
}
