/*
 * The covariance of ln memory between two configurations (CONTROLLER section 10.1), over knobs with a number
 * axis and over knobs that are categories; what a configuration is, is a place on each lever.
 *
 *     K = b^2 + l^2 (L + e) + p^2 (sum over i<j of u_i u_j u'_i u'_j + e L)
 *         + r^2 sum over k of exp(-(Du_k/1.5)^2/2) + r^2 product over k of exp(-(Du_k/3)^2/2) 0.4^differing
 *
 * L = sum of u u', e = equal categories that are not the reference. Everything but the four scales is a sum
 * over levers of what depends on the two configurations alone: a `struct alike`.
 */
#ifndef INFRARSI_MODEL_MEMORY_KERNEL_H
#define INFRARSI_MODEL_MEMORY_KERNEL_H

#include "base/base.h"
#include "model/axes.h"
#include "model/models.h"
#include "model/row_table.h"

enum memory_role { MEMORY_NO_PART, MEMORY_NUMBER, MEMORY_CATEGORY };

struct memory_frame { /* how configurations are placed */
	const struct lever *levers;
	int n_levers;
	const struct axes *axes;
	enum memory_role *role; /* n_levers */
	double *origin;         /* u at which L counts from 0; n_levers */
};

struct alike {
	double product;     /* L */
	double product_sq;  /* sum of (u u')^2 */
	double equal;       /* e */
	double near;        /* sum of exp(-(Du/1.5)^2/2) */
	double distance_sq; /* sum of Du^2; a differing category counts as much as 0.4 asks for */
};
enum { ALIKE_TERMS = 5 };

struct memory_scales {
	double b, l, p, r;
};

/* is_relative: u counts from the reference's. Every knob's role is set; the caller may take roles away. */
void memory_frame_init(
	struct memory_frame *f, const struct model_input *in, const struct axes *axes, bool is_relative);
void memory_frame_release(struct memory_frame *f);
/* u; of a category: the setting. */
double memory_place(const struct memory_frame *f, int lever, int setting);
/* The same of a value that need not be a setting: a number on a number axis, else a setting or -1. */
double memory_place_value(const struct memory_frame *f, int lever, double value);
struct alike memory_share(const struct memory_frame *f, int lever, double place_a, double place_b);
struct alike memory_alike(const struct memory_frame *f, const double *places_a, const double *places_b);
/* Fills the first ALIKE_TERMS terms of a row; memory_alike_row() reads them after row_table_sum(). */
void memory_fill_row(const struct memory_frame *f, struct row_table *t, int row, const double *places);
struct alike memory_alike_row(const struct row_table *t, int row);
double memory_covariance(const struct memory_scales *s, const struct alike *a);

#endif
