/*
 * relay: a model server on 127.0.0.1 that serves files or a script.
 *
 *     relay [--folder DIR] [--heads FILE] [--model NAME] [--requests N] [--seconds S] [WORD...]
 *
 * Prints its port.  With words, request number i is answered as word i says ("429 with Retry-After"
 * is wait:2); after the last word it ends.  With a folder, request i is written to
 * DIR/00i.request.json and answered with the text of DIR/00i.reply.txt, as soon as that is there
 * (write it elsewhere and rename it): so whoever plays the model reads exactly what a model would
 * get.
 *
 * Invariant: it ends after so many requests or seconds, whichever comes first.  One connection at a
 * time.
 */
#include "tests/relay/relay.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/opt.h"

enum { WORDS_MAX = 200, SECONDS_MAX = 24 * 3600, REQUESTS_MAX = 999, ALARM_SLACK_S = 10 };
#define ARENA_BYTES ((size_t)1 << 30)

struct arguments {
    int64_t seconds, requests;
    const char *words[WORDS_MAX];
    int count;
};

static struct str word_of(const char *text, const char **argument)
{
    size_t len = strcspn(text, ":");
    *argument = text[len] ? text + len + 1 : "";
    return (struct str){text, len};
}

static bool check_words(struct arguments *args, const struct relay *relay, struct err *err)
{
    const char *argument;
    if (args->count == 0 && !relay->folder)
        return err_raise(err, ERR_USAGE, "give a --folder or words");
    for (int i = 0; i < args->count; i++)
        if (!serve_known(word_of(args->words[i], &argument)))
            return err_raise(err, ERR_USAGE, "no word %s", args->words[i]);
    if (args->count > 0 && args->count < args->requests)
        args->requests = args->count;
    return true;
}

static bool serve(struct relay *relay, const struct arguments *args, int fd, struct err *err)
{
    struct arena arena;
    bool ok = true;
    arena_init(&arena, ARENA_BYTES);
    struct visit visit = {.relay = relay, .arena = &arena, .fd = fd, .argument = ""};
    if (visit_read(&visit)) {
        relay->number++;
        if (relay->heads)
            ok = file_append(relay->heads, visit.head, err);
        if (ok && args->count > 0)
            serve_word(&visit, word_of(args->words[relay->number - 1], &visit.argument));
        else if (ok)
            ok = serve_folder(&visit, err);
    }
    if (visit.fd >= 0)
        visit_close(&visit, false);
    arena_release(&arena);
    return ok;
}

static bool run(struct relay *relay, struct arguments *args, struct err *err)
{
    int fd;
    if (!check_words(args, relay, err) || !relay_listen(relay, err))
        return false;
    relay->end_ns = clock_mono_ns() + args->seconds * 1000000000;
    alarm((unsigned)args->seconds + ALARM_SLACK_S);
    printf("%d\n", relay->port);
    fflush(stdout);
    while (relay->number < args->requests && relay_accept(relay, &fd))
        if (!serve(relay, args, fd, err))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    struct relay relay = {.model = "relay"};
    struct arguments args = {.seconds = 600, .requests = REQUESTS_MAX};
    const struct opt options[] = {
        {"folder", OPT_TEXT, &relay.folder, "DIR", "requests and replies", 0, 0},
        {"heads", OPT_TEXT, &relay.heads, "FILE", "gets each request's head", 0, 0},
        {"model", OPT_TEXT, &relay.model, "NAME", "what the replies say they are by", 0, 0},
        {"requests", OPT_INT, &args.requests, "N", "end after so many", 1, REQUESTS_MAX},
        {"seconds", OPT_INT, &args.seconds, "S", "end after so many", 1, SECONDS_MAX},
    };
    const struct opt_command command = {
        .name = "relay",
        .options = options,
        .option_count = COUNT_OF(options),
        .positional_max = WORDS_MAX,
    };
    struct err err;
    if (!opt_parse(&command, argc, argv, args.words, &args.count, &err) ||
        !run(&relay, &args, &err)) {
        fprintf(stderr, "relay: %s\n", err.text);
        return err.code == ERR_USAGE ? 2 : 1;
    }
    return 0;
}
