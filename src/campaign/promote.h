/* Carries out what promotion/ asks for, one recorded step after another. */
#ifndef INFRARSI_CAMPAIGN_PROMOTE_H
#define INFRARSI_CAMPAIGN_PROMOTE_H

#include "base/base.h"
#include "campaign/campaign.h"

enum err_code promote_run(struct campaign *c, struct err *reterr) MUST_CHECK;

#endif
