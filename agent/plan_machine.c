/*
 * Machines that are not: one number changed, or the part of a machine that others leave.
 *
 * A share of the SMs is what MPS (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE) and green contexts give out:
 * the SMs and all that is in them.  L2, DRAM and their bandwidth are parted by neither, so here
 * they stay whole; what so few SMs can draw from them is solver/cost's matter.  Not here: what the
 * others draw meanwhile.
 */
#include "base/num.h"

#include "agent/plan_view.h"

enum { PERCENT_PLACES = 2, FRACTION_PLACES = 4 }; /* both to 1 / MACHINE_SHARE_WHOLE */

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

const struct machine *machine_with_smem(struct arena *arena, const struct machine *machine,
                                        int64_t bytes)
{
    struct machine *out = arena_new(arena, struct machine);

    *out = *machine;
    out->shared_bytes_per_block_optin = bytes;
    out->shared_bytes_per_block = smaller(machine->shared_bytes_per_block, bytes);
    /* a machine of that size: one block of the largest kind fits an SM */
    out->shared_bytes_per_sm = bytes + machine->shared_bytes_reserved_per_block;
    return out;
}

const struct machine *machine_with_smem_limit(struct arena *arena, const struct machine *machine,
                                              int64_t bytes)
{
    struct machine *out = arena_new(arena, struct machine);

    *out = *machine;
    out->shared_bytes_per_block_optin = smaller(machine->shared_bytes_per_block_optin, bytes);
    out->shared_bytes_per_block = smaller(machine->shared_bytes_per_block, bytes);
    return out;
}

const struct machine *machine_with_sms(struct arena *arena, const struct machine *machine,
                                       int64_t count)
{
    struct machine *out = arena_new(arena, struct machine);

    *out = *machine;
    out->sm_count = count;
    for (size_t i = 0; i < MACHINE_RATE_COUNT; i++)
        out->rates[i] *= (double)count / (double)machine->sm_count;
    return out;
}

/* ---- shares ---- */

bool machine_share_read(const char **text, int64_t *out)
{
    const char *at = *text;
    int64_t value = 0;
    int places = 0;
    bool point = false;

    for (; (*at >= '0' && *at <= '9') || (*at == '.' && at[1] != '.' && !point); at++) {
        point |= *at == '.';
        if (*at == '.')
            continue;
        value = value * 10 + (*at - '0');
        places += point;
        if (value > 100 * MACHINE_SHARE_WHOLE)
            return false;
    }
    const int most = *at == '%' ? PERCENT_PLACES : FRACTION_PLACES;
    if (**text < '0' || **text > '9' || at[-1] == '.' || places > most)
        return false;
    for (; places < most; places++)
        value *= 10;
    if (value < 1 || value > MACHINE_SHARE_WHOLE)
        return false;
    *text = at + (*at == '%');
    *out = value;
    return true;
}

void machine_share_print(struct buf *out, int64_t share)
{
    const int64_t rest = share % 100;

    buf_printf(out, "%lld", (long long)(share / 100));
    if (rest > 0 && rest % 10 == 0)
        buf_printf(out, ".%lld", (long long)(rest / 10));
    else if (rest > 0)
        buf_printf(out, ".%02lld", (long long)rest);
    buf_char(out, '%');
}

/* Whole SMs, rounded down: a tenant gets no part of one. */
bool machine_with_share(struct arena *arena, const struct machine *machine, int64_t share,
                        const struct machine **out, struct err *err)
{
    const int64_t count = machine->sm_count * share / MACHINE_SHARE_WHOLE;
    struct buf given, least;

    if (count >= 1) {
        *out = machine_with_sms(arena, machine, count);
        return true;
    }
    buf_init(&given, arena, ERR_TEXT_BYTES);
    buf_init(&least, arena, ERR_TEXT_BYTES);
    machine_share_print(&given, share);
    machine_share_print(&least, num_ceil_div(MACHINE_SHARE_WHOLE, machine->sm_count));
    return err_raise(err, ERR_USAGE, "%.*s of the %lld SMs of %.*s is not one; the least is %.*s",
                     STR_ARG(buf_view(&given)), (long long)machine->sm_count,
                     STR_ARG(machine->name), STR_ARG(buf_view(&least)));
}
