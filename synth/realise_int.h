#ifndef SYNTH_REALISE_INT_H
#define SYNTH_REALISE_INT_H

#include "synth/candidate_int.h"

/*
 * Shared by the files of the realiser.
 *
 *   realise.c       a plan's regions one after the other
 *   realise_rows.c  rows and fused maps
 *   realise_tile.c  contractions
 */

/* ---- text ---- */

/* Declares the indices of several loops from one flat row-major number. */
void print_indices(struct cuda *out, const struct printer *printer, const char *flat,
                   const size_t *loops, const char *const *names, const struct loop *all,
                   size_t count);

bool realise_rows(struct file_text *file, const struct rows *rows, const struct plan_region *region,
                  const char *comment, struct err *err) MUST_USE;
bool realise_tile(struct file_text *file, const struct tile *tile, const struct plan_region *region,
                  const char *comment, struct err *err) MUST_USE;

#endif
