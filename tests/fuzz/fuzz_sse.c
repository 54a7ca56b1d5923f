/*
 * Any body of a model server, of any status (its first byte): a reply or a fault with a line of
 * text that is safe to show.  Scrubbed of a key, it no longer holds it, and scrubbing again changes
 * nothing.
 */
#include <stdint.h>
#include <string.h>

#include "base/panic.h"

#include "agent/llm/llm_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WHAT_BYTES_MAX = 1024 };
#define ARENA_BYTES ((size_t)4 << 30)

static void check_answer(const struct chat_answer *answer)
{
    struct str what = str_from(answer->what);
    if (answer->fault == LLM_FAULT_NONE) {
        ASSERT(what.len == 0 && answer->reply.text.at && answer->reply.reasoning.at);
        ASSERT(json_is_text(answer->reply.text) && json_is_text(answer->reply.reasoning));
        ASSERT(answer->reply.usage.cached_tokens <= answer->reply.usage.input_tokens);
        return;
    }
    ASSERT(what.len < WHAT_BYTES_MAX && json_is_text(what));
    for (size_t i = 0; i < what.len; i++)
        ASSERT((unsigned char)what.at[i] >= ' ' && what.at[i] != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t statuses[] = {200, 0, 429, 400};
    static const struct llm_secret key = {{"sk-0123456789", 13}};
    struct arena arena;
    struct chat_answer answer;
    struct str body = {(const char *)data, size};
    int64_t status = 200;
    arena_init(&arena, ARENA_BYTES);
    if (size > 0 && data[0] < COUNT_OF(statuses)) {
        status = statuses[data[0]];
        body = (struct str){body.at + 1, body.len - 1};
    }
    struct str scrubbed = secret_scrub(&arena, &key, body);
    ASSERT(!secret_occurs(&key, scrubbed));
    chat_answer_read(&arena, status, scrubbed, &answer);
    check_answer(&answer);
    retry_after_parse(body, 1700000000);
    arena_release(&arena);
    return 0;
}
