/*
 * The model that a command talks to, from its options: live, recorded, from tape, or none.
 *
 * A key goes to the server that it is for and to no other: WARPWRIGHT_API_KEY to the one that --llm
 * names, whichever that is; OPENAI_API_KEY only to api.openai.com.
 */
#include <string.h>

#include "base/file.h"

#include "agent/agent.h"

static const char openai_url[] = "https://api.openai.com/";

static bool key_of(struct session *session, const struct model_args *args, struct llm_secret *out,
                   struct err *err)
{
    const char *key = environment_key("WARPWRIGHT_API_KEY");

    *out = (struct llm_secret){STR_LIT("")};
    if (args->key_file != NULL)
        return llm_secret_read(session->arena, args->key_file, out, err);
    if (key == NULL && strncmp(args->llm, openai_url, sizeof(openai_url) - 1) == 0)
        key = environment_key("OPENAI_API_KEY");
    if (key != NULL)
        out->text = str_from(key);
    return true;
}

static bool wants_none(const struct model_args *args)
{
    return args->llm != NULL && strcmp(args->llm, "none") == 0;
}

static bool check(const struct model_args *args, struct err *err)
{
    const bool tape = args->record != NULL || args->replay != NULL;

    if (args->llm == NULL && args->replay == NULL)
        return err_raise(err, ERR_USAGE,
                         "who writes the kernels?  Say --llm URL for a model's server, --replay "
                         "TAPE for recorded answers, or --llm none for the realiser alone");
    if (wants_none(args) && (tape || args->strict || args->model != NULL))
        return err_raise(err, ERR_USAGE,
                         "--llm none asks no model, so --model, --record, --replay and --strict "
                         "have no meaning beside it");
    if (args->strict && args->replay == NULL)
        return err_raise(err, ERR_USAGE, "--strict is for a replay; name the tape: --replay TAPE");
    if (args->llm == NULL && args->record != NULL)
        return err_raise(err, ERR_USAGE, "--record needs a model to record: --llm URL");
    return true;
}

bool session_model(struct session *session, const struct model_args *args, struct llm **out,
                   struct err *err)
{
    struct llm_options options = llm_defaults();

    *out = NULL;
    if (!check(args, err))
        return false;
    if (wants_none(args))
        return true;
    if (args->llm != NULL) {
        options.base_url = str_from(args->llm);
        if (!key_of(session, args, &options.key, err))
            return false;
    }
    if (args->model != NULL)
        options.model = str_from(args->model);
    if (args->deadline_s > 0)
        options.deadline_ms = args->deadline_s * 1000;
    options.plain_http = args->plain_http;
    options.record = args->record;
    options.replay = args->replay;
    options.strict = args->strict;
    options.seed = session->secret;
    return llm_open(session->arena, &options, out, err);
}

const char *model_tape(const struct model_args *args)
{
    const char *tape = args->record != NULL ? args->record : args->replay;

    return tape != NULL ? path_base(tape) : "";
}
