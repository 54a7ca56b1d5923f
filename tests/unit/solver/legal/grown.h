#ifndef TESTS_UNIT_SOLVER_LEGAL_GROWN_H
#define TESTS_UNIT_SOLVER_LEGAL_GROWN_H

#include <stdio.h>

#include "base/buf.h"

/* A spec of `blocks` blocks of 14 statements: normalisation, attention, two layers, residuals. */
enum { GROWN_BLOCK = 14 };

static inline struct str grown_spec(struct arena *arena, int blocks)
{
    static const char *const lines[GROWN_BLOCK] = {
        "s%d[i] = sum(k) h%d[i,k]",
        "d%d[i,k] = h%d[i,k] - s%d[i] / K",
        "q%d[i] = sum(k) d%d[i,k] * d%d[i,k]",
        "n%d[i,k] = d%d[i,k] * rsqrt(q%d[i] / K + 1e-5)",
        "a%d[i,j] = sum(k) n%d[i,k] * n%d[j,k]",
        "m%d[i] = max(j) a%d[i,j]",
        "e%d[i,j] = exp(a%d[i,j] - m%d[i])",
        "z%d[i] = sum(j) e%d[i,j]",
        "o%d[i,k] = sum(j) e%d[i,j] * n%d[j,k]",
        "r%d[i,k] = h%d[i,k] + o%d[i,k] / z%d[i]",
        "u%d[i,l:K] = sum(k) r%d[i,k] * w[k,l]",
        "g%d[i,l] = u%d[i,l] / (1 + exp(-u%d[i,l]))",
        "v%d[i,k:K] = sum(l) g%d[i,l] * w[l,k]",
    };
    struct buf out;
    buf_init(&out, arena, 1 << 20);
    buf_text(&out, "{\"spec\": 1, \"name\": \"grown\", \"doc\": \"blocks\", "
                   "\"dims\": {\"M\": [1, 65536], \"K\": [1, 4096]}, \"tensors\": ["
                   "{\"name\": \"x\", \"role\": \"input\", \"dtype\": \"f32\", \"shape\": "
                   "[\"M\", \"K\"]}, {\"name\": \"w\", \"role\": \"weight\", \"dtype\": \"f32\", "
                   "\"shape\": [\"K\", \"K\"]}, {\"name\": \"y\", \"role\": \"output\", "
                   "\"dtype\": \"f32\", \"shape\": [\"M\", \"K\"]}], \"tracks\": {\"f32\": {}}, "
                   "\"shapes\": {\"target\": [{\"M\": 512, \"K\": 64}]}, \"body\": [");
    buf_text(&out, "\"h0[i:M,k:K] = x[i,k] * 1.0\", ");
    for (int b = 0; b < blocks; b++) {
        for (size_t i = 0; i + 1 < GROWN_BLOCK; i++) {
            buf_text(&out, "\"");
            for (const char *at = lines[i]; *at != '\0'; at++)
                if (at[0] == '%')
                    buf_printf(&out, "%d", b), at++;
                else
                    buf_printf(&out, "%c", *at);
            buf_text(&out, "\", ");
        }
        buf_printf(&out, "\"h%d[i:M,k:K] = r%d[i,k] + v%d[i,k]\", ", b + 1, b, b);
    }
    buf_printf(&out, "\"y[i,k] = h%d[i,k]\"]}", blocks);
    return buf_view(&out);
}

#endif
