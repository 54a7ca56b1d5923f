#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

/* The whole of a file of at most bytes_max bytes, owned by `arena`, NUL-terminated behind len. */
bool file_read(struct arena *arena, const char *path, size_t bytes_max, struct str *out,
               struct err *err) MUST_USE;

/* Replace `path` with `data`: written beside it, synced, renamed.  After a crash either the old or
 * the new contents are there, whole. */
bool file_write(const char *path, struct str data, struct err *err) MUST_USE;

/* Append one record and sync it. */
bool file_append(const char *path, struct str data, struct err *err) MUST_USE;

/* Of what is not there too. */
bool file_remove(const char *path, struct err *err) MUST_USE;

bool file_exists(const char *path);
bool file_is_dir(const char *path);

/* Create a folder and its parents; an existing folder is fine. */
bool file_make_dirs(const char *path, struct err *err) MUST_USE;

/* Names in a folder that end in `suffix` (""= all; dot files left out), sorted by bytes. */
bool file_list(struct arena *arena, const char *folder, const char *suffix, size_t count_max,
               const char *const **names, size_t *count, struct err *err) MUST_USE;

/* "a/b" from its parts; the last part of a path; its folder ("." when there is none). */
char *path_join(struct arena *arena, const char *folder, const char *name);
const char *path_base(const char *path);
char *path_dir(struct arena *arena, const char *path);

#endif
