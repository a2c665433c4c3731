/* Which accelerator trains here, as the mechanism catalogue names its classes. */
#ifndef INFRARSI_MACHINE_ACCELERATOR_H
#define INFRARSI_MACHINE_ACCELERATOR_H

#include "base/base.h"

/* "h100", "mi300x", ... by the driver's own files in /proc and /sys; "any" for one that is no class of its
 * own; NULL where there is none. A constant. */
const char *accelerator_class(void);
/* The class of a device's name as its driver gives it ("NVIDIA H100 80GB HBM3"); NULL = none of its own. */
const char *accelerator_class_of(const char *device);

#endif
