/*
 * Progress on stderr: one line rewritten at 4 Hz on a terminal, a line each elsewhere.
 */
#include <stdarg.h>
#include <unistd.h>

#include "base/clock.h"

#include "agent/agent.h"

enum { INTERVAL_NS = 250000000 };

void progress_begin(struct progress *progress)
{
    *progress = (struct progress){.terminal = isatty(STDERR_FILENO) != 0};
}

void progress_show(struct progress *progress, const char *fmt, ...)
{
    const int64_t now = clock_mono_ns();
    va_list args;

    if (progress->terminal && progress->dirty && now - progress->shown_ns < INTERVAL_NS)
        return;
    if (progress->terminal)
        fputs("\r\033[K", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    if (!progress->terminal)
        fputc('\n', stderr);
    fflush(stderr);
    progress->dirty = true;
    progress->shown_ns = now;
}

void progress_end(struct progress *progress)
{
    if (progress->terminal && progress->dirty)
        fputs("\r\033[K", stderr);
    progress->dirty = false;
}
