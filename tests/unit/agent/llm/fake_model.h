#ifndef TESTS_UNIT_AGENT_LLM_FAKE_MODEL_H
#define TESTS_UNIT_AGENT_LLM_FAKE_MODEL_H

#include "agent/llm/llm_int.h"
#include "tests/unit/unit.h"

/* A live source that answers from a list and keeps its own time, in which each try takes try_ms. */
struct fake_answer {
    int64_t status;
    const char *raw;
    int64_t retry_after_ms; /* -1 = not asked for */
};

struct fake_model {
    const struct fake_answer *answers;
    size_t count, next;
    int64_t now_ms, try_ms;
    int64_t waits_ms[64], left_ms[64];
    size_t wait_count;
};

#define FAKE_URL "https://h.example/v1/chat/completions"

static inline bool fake_exchange(struct arena *arena UNUSED, void *self,
                                 const struct llm_call *call, struct llm_try *out, struct err *err)
{
    struct fake_model *fake = self;
    if (fake->next == fake->count)
        return err_raise(err, ERR_IO, "the fake has no more answers");
    const struct fake_answer *answer = &fake->answers[fake->next];
    fake->left_ms[fake->next++] = call->left_ms;
    fake->now_ms += fake->try_ms;
    *out = (struct llm_try){.status = answer->status,
                            .raw = str_from(answer->raw),
                            .url = STR_LIT(FAKE_URL),
                            .retry_after_ms = answer->retry_after_ms,
                            .date_s = 1700000000};
    return true;
}

static inline int64_t fake_now_ns(void *self)
{
    return ((struct fake_model *)self)->now_ms * 1000000;
}

static inline void fake_wait_ns(void *self, int64_t ns)
{
    struct fake_model *fake = self;
    fake->waits_ms[fake->wait_count++] = ns / 1000000;
    fake->now_ms += ns / 1000000;
}

static const struct llm_transport fake_transport = {fake_exchange, fake_now_ns, fake_wait_ns};

static inline struct llm fake_open(struct fake_model *fake)
{
    struct llm llm = {.options = llm_defaults(), .url = STR_LIT(FAKE_URL)};
    llm.options.model = STR_LIT("m-1");
    llm.live = (struct llm_source){&fake_transport, fake};
    return llm;
}

static inline struct llm_request fake_request(const struct llm_message *messages, int64_t attempt)
{
    return (struct llm_request){
        .key = {STR_LIT("softmax"), 0, attempt, STR_LIT("write")},
        .messages = messages,
        .message_count = 1,
        .temperature = -1,
    };
}

#endif
