#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

/* Text of a stranger (model, server, file) for one line of a terminal: control characters, invalid
 * UTF-8 and marks that change the direction of text as \xNN; over `bytes_max` it ends in "...". */
void escape_print(struct buf *out, struct str text, size_t bytes_max);

#endif
