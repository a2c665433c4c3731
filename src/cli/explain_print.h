/* What `infrarsi explain` puts together, and its two forms: text that fits 100 columns, and JSON. */
#ifndef INFRARSI_CLI_EXPLAIN_PRINT_H
#define INFRARSI_CLI_EXPLAIN_PRINT_H

#include "base/base.h"
#include "search/beliefs.h"
#include "search/score_terms.h"
#include "state/state.h"

struct strbuf;

struct explanation { /* of a whole campaign */
	const struct state *state;
	struct beliefs beliefs;
	struct decision next;  /* not found: nothing is left */
	bool next_is_recorded; /* decided and not begun: `run` takes it up. Only its settings are known */
	bool is_simulated;     /* what the simulator told its search is not in the campaign */
	/* What another trial is expected to save and costs, in device-seconds (NAN = nobody can tell), and
	 * the same in words, "" there. */
	double saving_s, price_s;
	const char *worth;
	bool show_all;
};

/* The text in its parts. */
void explain_table(const struct explanation *x, struct strbuf *text);
void explain_text(const struct explanation *x, struct strbuf *text);
char *explain_json(const struct explanation *x); /* malloc */

/* One recorded decision, and what came of it. */
void explain_trial_text(const struct state *s, const struct trial *t, struct strbuf *text);
char *explain_trial_json(const struct state *s, const struct trial *t); /* malloc */

/* The whole command: as text, or as one JSON document. ERR_NOT_FOUND: there is no such trial. */
struct campaign;
enum err_code explain_whole_campaign(const struct campaign *c, bool show_all, bool as_json,
	struct strbuf *text, struct err *reterr) MUST_CHECK;
enum err_code explain_one_trial(const struct state *s, int64_t number, bool as_json, struct strbuf *text,
	struct err *reterr) MUST_CHECK;

enum { EXPLAIN_COLUMNS = 100, GAIN_TEXT_SIZE = 24 };
extern const double explain_interval_sd; /* half a 95% interval of a normal belief */

/* Number of the trial behind an observation; 0 = the reference. */
int explain_trial_of(const struct state *s, int observation);
/* "+4.2%", "+38%", "12x" */
const char *explain_gain(double gain_ln, char buf[GAIN_TEXT_SIZE]);
/* "1.42x (95% 1.38 to 1.46)" */
void explain_add_speedup(struct strbuf *text, double mean_ln, double sd_ln);
/* "micro_batch=2", "+03-fused-norm" */
void explain_add_setting(struct strbuf *text, const struct state *s, int lever, int setting);
/* Adds text that is safe to show, in lines of EXPLAIN_COLUMNS broken at spaces, all but the first indented.
 */
void explain_add_wrapped(struct strbuf *text, const char *value, size_t indent);
/* Adds text from outside, cut with "..." to so many columns; returns the columns used. */
size_t explain_add_cut(struct strbuf *text, const char *value, size_t columns);
/* "exploit: one or two changes to the incumbent", a line for each label, indented from the second on. What a
 * label means depends on the strategy (an unknown one is read as the controller) and on how many patches the
 * change puts on. */
void explain_add_operators(
	struct strbuf *text, const char *strategy_name, const char *operators, int n_patches_on);
/* Patches that `setting` has on and `base` (NULL = the reference) has not. */
int explain_patches_on(const struct state *s, const int *base, const int *setting);
/* What the models read of a trial; NULL: nothing (it has not ended, or its end says nothing). */
const struct observation *explain_observation_of(const struct state *s, const struct trial *t);
/* How far the measured gain lies from the predicted one, in sd of belief and noise together; NAN where either
 * is not known, or where the time is not the configuration's own and teaches the models nothing. */
double explain_off_sd(const struct state *s, const struct trial *t);
/* The factors of a recorded score. False: it is not the controller's. */
bool explain_score_terms(const struct state *s, const struct trial *t, struct score_terms *ret_terms);
/* "0.0863 = 0.272 upper gain x 0.32 fits x 1.00 runs", and a line that says what an upper gain is. */
void explain_add_score(struct strbuf *text, double score, const struct score_terms *terms);

#endif
