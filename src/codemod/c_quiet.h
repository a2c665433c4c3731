/*
 * Code that reads and writes memory and variables of its own, and does nothing else: it keeps no state in
 * variables of the file or of a thread, calls nothing that could, waits for nobody and leaves by its end
 * only. Where passes of a loop do not meet in memory, such code may be done for several of them in turns.
 */
#ifndef INFRARSI_CODEMOD_C_QUIET_H
#define INFRARSI_CODEMOD_C_QUIET_H

#include "codemod/c_code.h"

/* NULL: the statements are quiet; else why that is not known. Functions of the program that they call are
 * looked into, where there is no doubt which they are. */
const char *c_reason_not_quiet(struct rewrite *r, TSNode statements);
/* Where the name is a macro in some file of the program, it stands for a number. */
bool c_is_number(struct rewrite *r, const char *name);

#endif
