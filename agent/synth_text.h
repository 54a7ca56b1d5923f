#ifndef AGENT_SYNTH_TEXT_H
#define AGENT_SYNTH_TEXT_H

#include "base/arena.h"
#include "base/str.h"

#include "agent/campaign/campaign.h"

/* What `synth` prints: a table for people, or one JSON document.  Without wall times, so that equal
 * runs print equal bytes.  `out` NULL: nothing was written. */
struct str synth_table(struct arena *arena, const struct campaign_options *options,
                       const struct campaign_result *result, const char *out);
struct str synth_json(struct arena *arena, const struct campaign_options *options,
                      const struct campaign_result *result);

#endif
