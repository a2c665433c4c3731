/* Decimal numbers to doubles. Internal to adapter/. */
#ifndef INFRARSI_ADAPTER_DECIMAL_INT_H
#define INFRARSI_ADAPTER_DECIMAL_INT_H

#include "base/base.h"

/* digits * 10^power_of_ten, correctly rounded; false where this cannot be told quickly (strtod() can) and for
 * 0. */
bool decimal_to_double(uint64_t digits, int power_of_ten, double *ret_value);

#endif
