#ifndef SYNTH_PROMPT_INT_H
#define SYNTH_PROMPT_INT_H

#include "synth/prompt.h"
#include "synth/synth_int.h"

/* What the files of the prompt share: quoting (quote.c), and one printer a part. */

enum { PROMPT_BYTES_MAX = 32 << 20 };

/* ---- quote.c ---- */

/* As one line: blanks for line breaks. */
void quote_line(struct buf *out, struct str text);
/* Line breaks kept, later lines indented, so that none of them can be a heading or a fence. */
void quote_item(struct buf *out, struct str text);
/* Between fences of a length that the text does not have; `label` may be "". */
void quote_fence(struct buf *out, const char *label, struct str text);
bool text_has(struct str text, struct str part);

/* ---- parts: `kept` of part_units(), at least 1 ---- */

size_t part_units(const struct prompt_input *in, enum prompt_part part);
void part_print(struct buf *out, const struct prompt_input *in, enum prompt_part part, size_t kept);

/* Regions of a plan, at least 1. */
size_t plan_units(const struct plan *plan);
void plan_text(struct buf *out, const struct prompt_input *in, size_t regions);
void operation_text(struct buf *out, const struct prompt_input *in);
void constraints_text(struct buf *out, const struct prompt_input *in);
void reply_text(struct arena *arena, struct buf *out, const struct prompt_input *in);
void verdict_text_for_model(struct buf *out, const struct prompt_input *in);

void list_text(struct buf *out, const struct prompt_list *list, size_t kept);
const struct track *track_of(const struct prompt_input *in);

/* ---- source_lines.c ---- */

enum { PLACES_MAX = 6 };
/* Lines of the source that a message names ("kernel.cu:12", "inlined at 40", "line 7"), in order,
 * each once, at most PLACES_MAX. */
struct places {
    size_t lines[PLACES_MAX];
    size_t count;
};
void places_add(struct places *places, size_t line, size_t line_count);
void places_read(struct places *places, struct str message, size_t line_count);
size_t lines_count(struct str text);
/* The named lines with one before and behind, numbered, the named ones marked, inside a fence. */
void lines_around(struct buf *out, struct str source, const struct places *places);
/* `kept` lines of the source around the first place, or from the start. */
struct str lines_window(struct str source, const struct places *places, size_t kept, size_t *first);

/* What the last verdict is about; none without one. */
struct places verdict_places(const struct prompt_input *in);

/* A template with {{NAME}} replaced by values; an unknown name is a bug. */
struct slot {
    const char *name, *value;
};
void template_fill(struct buf *out, const char *text, const struct slot *slots, size_t count);

#endif
