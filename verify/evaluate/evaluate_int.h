#ifndef VERIFY_EVALUATE_EVALUATE_INT_H
#define VERIFY_EVALUATE_EVALUATE_INT_H

#include "verify/evaluate/evaluate.h"

/* What the one-file and the folder form share. */

bool candidate_form_find(struct str name, enum candidate_form *out);
bool bundle_options_parse(const struct json *json, struct bundle_options *out,
                          struct err *err) MUST_USE;
void bundle_options_print(struct json_writer *w, const struct bundle_options *options);
bool bundle_spec_name_ok(struct str name);
/* Names unique and well-formed, at least one; what a folder's reader must check as well. */
bool bundle_check(const struct bundle *bundle, struct err *err) MUST_USE;

#endif
