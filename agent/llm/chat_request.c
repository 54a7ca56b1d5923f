/*
 * The body of POST {base}/chat/completions, in the canonical JSON that a tape keeps and a strict
 * replay compares.  It asks for a stream, so that a stalled server is noticed long before the
 * deadline, and for the usage at the end of it.  What the caller leaves open is left out, for some
 * servers refuse a temperature or a token limit.
 */
#include "agent/llm/llm_int.h"

static const char *role_word(enum llm_role role)
{
    switch (role) {
#define X(name, word)                                                                              \
    case LLM_##name:                                                                               \
        return word;
        LLM_ROLES(X)
#undef X
    }
    return "";
}

static void print_messages(struct json_writer *w, const struct llm_request *request)
{
    json_key(w, "messages");
    json_open_array(w);
    for (size_t i = 0; i < request->message_count; i++) {
        json_open_object(w);
        json_member_text(w, "role", role_word(request->messages[i].role));
        json_member_str(w, "content", request->messages[i].text);
        json_close_object(w);
    }
    json_close_array(w);
}

bool chat_request_print(struct arena *arena, struct str model, const struct llm_request *request,
                        struct str *out, struct err *err)
{
    struct buf text;
    struct json_writer w;
    buf_init(&text, arena, LLM_REQUEST_BYTES_MAX);
    json_writer_init(&w, &text);
    json_open_object(&w);
    json_member_str(&w, "model", model);
    print_messages(&w, request);
    json_member_bool(&w, "stream", true);
    json_key(&w, "stream_options");
    json_open_object(&w);
    json_member_bool(&w, "include_usage", true);
    json_close_object(&w);
    if (request->max_tokens > 0)
        json_member_int(&w, "max_tokens", request->max_tokens);
    if (request->temperature >= 0)
        json_member_real(&w, "temperature", request->temperature);
    json_close_object(&w);
    return buf_finish(&text, "the request to the model", out, err);
}
