/*
 * Predicted against measured gains as a picture: one file, nothing from outside. Both axes are ln ratios, so
 * that twice as fast and half as fast are equally far from 0, with percent written at them. Sources differ by
 * shape and by colour; colours are after M. Okabe and K. Ito's palette for all kinds of colour vision,
 * darkened or lightened until each has a contrast of 3:1 with the background it stands on (WCAG 2.1, 1.4.11),
 * of which there is a light and a dark one.
 */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "report/predictions.h"
#include "report/report_int.h"

enum { WIDTH = 720, HEIGHT = 500, LEFT = 78, TOP = 44, SIDE = 396, LEGEND = LEFT + SIDE + 24 };
enum { LEGEND_ROWS = 14, LEGEND_STEP = 22, NAME_BYTES = 24, TICK_APART = 44, TICKS_MAX = 12 };

static const char head[] =
	"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
	"role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n"
	"<title>Predicted against measured gains</title>\n"
	"<style>\n"
	".paper { fill: #ffffff } .ink { fill: #1f2328 } .rule { stroke: #59636e } .grid { stroke: #d8dee4 "
	"}\n"
	".s0 { color: #0072b2 } .s1 { color: #c2500a } .s2 { color: #00805d } .s3 { color: #a8477f } .s4 { "
	"color: #856800 }\n"
	"@media (prefers-color-scheme: dark) {\n"
	".paper { fill: #0d1117 } .ink { fill: #e6edf3 } .rule { stroke: #9198a1 } .grid { stroke: #30363d "
	"}\n"
	".s0 { color: #56b4e9 } .s1 { color: #f0883e } .s2 { color: #2fc99a } .s3 { color: #e79ac5 } .s4 { "
	"color: #f0e442 }\n"
	"}\n"
	"</style>\n"
	"<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n";

/* About the mark's own middle, 11 units across; filled. Six shapes and five colours: 30 sources differ. */
static const char *const shapes[] = {
	"M-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0 -11 0z",
	"M-5 -5h10v10h-10z",
	"M0 -6l6 11h-12z",
	"M0 -6.5l6.5 6.5l-6.5 6.5l-6.5 -6.5z",
	"M-6 -2h4v-4h4v4h4v4h-4v4h-4v-4h-4z",
	"M0 6l-6 -11h12z",
};
enum { N_COLOURS = 5 };

/* In the order in which they are chosen where not all have room. */
static const double tick_percents[] = {0, 100, -50, 10, -10, 900, -90, 50, 20, -20, 200, 400, -75, 5, -5, 1,
	-1, 2, -2, 0.5, -0.5, 0.1, -0.1, 0.2, -0.2, 1900, 4900, 9900, -95, -98, -99};

struct axis { /* the same for both directions */
	double low_ln, high_ln;
};

/* ------------------------------------------------------------- places */

static double place_of(const struct axis *a, double gain_ln)
{
	return SIDE * (gain_ln - a->low_ln) / (a->high_ln - a->low_ln);
}

static double x_of(const struct axis *a, double gain_ln)
{
	return LEFT + place_of(a, gain_ln);
}

static double y_of(const struct axis *a, double gain_ln)
{
	return TOP + SIDE - place_of(a, gain_ln);
}

/* 0 lies in it. Intervals may reach beyond. */
static struct axis axis_for(const struct calibration *c)
{
	double low = 0, high = 0;
	for (size_t i = 0; i < c->n_predictions; i++) {
		const struct prediction *p = &c->predictions[i];
		if (p->measured_by == MEASURED_NOT)
			continue;
		low = fmin(low, fmin(p->gain_ln, p->measured_ln));
		high = fmax(high, fmax(p->gain_ln, p->measured_ln));
	}
	double margin = fmax(0.1 * (high - low), 0.001);
	return (struct axis){low - margin, high + margin};
}

static size_t choose_ticks(const struct axis *a, double ret_ln[TICKS_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < ARRAY_LEN(tick_percents) && n < TICKS_MAX; i++) {
		double gain_ln = log1p(tick_percents[i] / 100);
		bool has_room = gain_ln > a->low_ln && gain_ln < a->high_ln;
		for (size_t k = 0; k < n; k++)
			has_room &= fabs(place_of(a, gain_ln) - place_of(a, ret_ln[k])) >= TICK_APART;
		if (has_room)
			ret_ln[n++] = gain_ln;
	}
	return n;
}

/* ------------------------------------------------------------- parts */

/* Text from outside. What is left after the first step is printable, and XML 1.0 allows all of it but the
 * last two code points of the basic plane. */
static void add_xml(struct strbuf *text, const char *value)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	strbuf_add_escaped(&safe, value, strlen(value));
	for (const char *p = safe.buf; *p; p++) {
		if (*p == '&')
			strbuf_addstr(text, "&amp;");
		else if (*p == '<')
			strbuf_addstr(text, "&lt;");
		else if (*p == '>')
			strbuf_addstr(text, "&gt;");
		else if (strncmp(p, "\xef\xbf\xbe", 3) == 0 || strncmp(p, "\xef\xbf\xbf", 3) == 0) {
			strbuf_addch(text, '?');
			p += 2;
		} else
			strbuf_addch(text, *p);
	}
}

static void add_line(struct strbuf *text, const char *class_name, double x1, double y1, double x2, double y2)
{
	strbuf_addf(text, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
		class_name, x1, y1, x2, y2);
}

static void add_axes(const struct axis *a, struct strbuf *text)
{
	double ticks[TICKS_MAX];
	size_t n = choose_ticks(a, ticks);
	for (size_t i = 0; i < n; i++) {
		double x = x_of(a, ticks[i]), y = y_of(a, ticks[i]);
		add_line(text, "grid", x, TOP, x, TOP + SIDE);
		add_line(text, "grid", LEFT, y, LEFT + SIDE, y);
		strbuf_addf(text, "<text class=\"ink\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x,
			TOP + SIDE + 18);
		add_percent(text, ticks[i]);
		strbuf_addf(text, "</text>\n<text class=\"ink\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
			LEFT - 6, y + 4);
		add_percent(text, ticks[i]);
		strbuf_addstr(text, "</text>\n");
	}
	strbuf_addf(text,
		"<rect class=\"rule\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\"/>\n"
		"<line class=\"rule\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke-dasharray=\"6 4\"/>\n",
		LEFT, TOP, SIDE, SIDE, LEFT, TOP + SIDE, LEFT + SIDE, TOP);
	strbuf_addf(text,
		"<text class=\"ink\" x=\"%d\" y=\"24\" font-size=\"16\" font-weight=\"600\">Predicted "
		"against "
		"measured gains</text>\n"
		"<text class=\"ink\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">predicted</text>\n"
		"<text class=\"ink\" transform=\"translate(18 %d) rotate(-90)\" "
		"text-anchor=\"middle\">measured</text>\n",
		LEFT, LEFT + SIDE / 2, TOP + SIDE + 40, TOP + SIDE / 2);
}

static void add_symbol(int source, double x, double y, struct strbuf *text)
{
	strbuf_addf(text, "<path transform=\"translate(%.1f %.1f)\" d=\"%s\" fill=\"currentColor\"/>", x, y,
		shapes[(size_t)source % ARRAY_LEN(shapes)]);
}

static void add_bar(struct strbuf *text, double x1, double y1, double x2, double y2)
{
	strbuf_addf(text, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"currentColor\"/>",
		x1, y1, x2, y2);
}

/* Kept within the plot here rather than by a clip path: some viewers of SVG know none. */
static double kept(const struct axis *a, double gain_ln)
{
	return fmin(fmax(gain_ln, a->low_ln), a->high_ln);
}

static void add_mark(
	const struct predictions *p, const struct axis *a, const struct prediction *x, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf what = STRBUF_INIT;
	double at_x = x_of(a, x->gain_ln), at_y = y_of(a, x->measured_ln);
	double reach = calibration_interval_sd * x->measured_sd_ln;
	describe_prediction(p->state, x, &what);
	strbuf_addf(text, "<g class=\"s%d\"><title>", x->source % N_COLOURS);
	add_xml(text, state_source_name(p->state, x->source));
	strbuf_addstr(text, ": ");
	add_xml(text, what.buf);
	strbuf_addstr(text, ", predicted ");
	add_percent(text, x->gain_ln);
	strbuf_addstr(text, ", measured ");
	add_percent(text, x->measured_ln);
	strbuf_addstr(text, "</title>");
	add_bar(text, at_x, y_of(a, kept(a, x->measured_ln - reach)), at_x,
		y_of(a, kept(a, x->measured_ln + reach)));
	if (isfinite(x->sd_ln)) {
		reach = calibration_interval_sd * x->sd_ln;
		add_bar(text, x_of(a, kept(a, x->gain_ln - reach)), at_y,
			x_of(a, kept(a, x->gain_ln + reach)), at_y);
	}
	add_symbol(x->source, at_x, at_y, text);
	strbuf_addstr(text, "</g>\n");
}

/* ------------------------------------------------------------- legend */

static void add_name(const char *name, struct strbuf *text)
{
	CLEANUP(strbuf_release) struct strbuf safe = STRBUF_INIT;
	CLEANUP(strbuf_release) struct strbuf cut = STRBUF_INIT;
	strbuf_add_escaped(&safe, name, strlen(name));
	size_t keep = MIN_OF(safe.len, (size_t)NAME_BYTES);
	while (keep && keep < safe.len && ((unsigned char)safe.buf[keep] & 0xC0) == 0x80)
		keep--;
	strbuf_add(&cut, safe.buf, keep);
	add_xml(text, cut.buf);
	strbuf_addstr(text, keep < safe.len ? "..." : "");
}

static void add_legend(const struct predictions *p, struct strbuf *text)
{
	int n = 0, more = 0, y = TOP + 12;
	for (size_t i = 0; i < p->calibration.n_rows; i++) {
		const struct calibration_row *r = &p->calibration.rows[i];
		if (!r->n_measured)
			continue;
		if (n == LEGEND_ROWS) {
			more++;
			continue;
		}
		strbuf_addf(text, "<g class=\"s%d\">", r->source % N_COLOURS);
		add_symbol(r->source, LEGEND + 6, y, text);
		strbuf_addf(text, "</g><text class=\"ink\" x=\"%d\" y=\"%d\">", LEGEND + 20, y + 4);
		add_name(state_source_name(p->state, r->source), text);
		strbuf_addstr(text, "</text>\n");
		y += LEGEND_STEP;
		n++;
	}
	if (more) {
		strbuf_addf(text, "<text class=\"ink\" x=\"%d\" y=\"%d\">and %d more</text>\n", LEGEND + 20,
			y + 4, more);
		y += LEGEND_STEP;
	}
	static const char *const notes[] = {
		"On the dashed line what was", "predicted came true. Bars: 95%", "intervals."};
	for (size_t i = 0; i < ARRAY_LEN(notes); i++)
		strbuf_addf(text, "<text class=\"ink\" x=\"%d\" y=\"%d\" font-size=\"12\">%s</text>\n",
			LEGEND, y + 16 + 16 * (int)i, notes[i]);
}

void report_calibration_svg(const struct state *s, struct strbuf *text)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct predictions p = predictions_of(s, &arena);
	const struct calibration *c = &p.calibration;
	if (!p.n_measured)
		return;
	struct axis a = axis_for(c);
	strbuf_addf(text, head, WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
	add_axes(&a, text);
	for (size_t i = 0; i < c->n_predictions; i++)
		if (c->predictions[i].measured_by != MEASURED_NOT)
			add_mark(&p, &a, &c->predictions[i], text);
	add_legend(&p, text);
	strbuf_addstr(text, "</svg>\n");
}
