/*
 * Receipts made up for tests. synthetic_receipt() gives a run in which nothing is wrong: 30 updates, window
 * 11 to 30, loss 5 - 0.02 u (window mean 4.59), gradient norm 2 - 0.01 u, learning rate 1e-5 u, 4096 tokens
 * in rows of 128, step_s a step by both clocks, 100 MiB of memory under a cap of 128 MiB, two frozen files.
 */
#ifndef INFRARSI_TEST_SYNTHETIC_H
#define INFRARSI_TEST_SYNTHETIC_H

#include "event/receipt.h"

enum { SYNTHETIC_UPDATES = 30, SYNTHETIC_WARMUP = 10 };

void synthetic_receipt(struct receipt *r, enum receipt_role role, int64_t seq, double step_s);
/* Keeps the first n updates. */
void synthetic_stop_after(struct receipt *r, int n, int exit_status);

#endif
