/*
 * What an architecture allows a block.
 *
 * Source: the CUDA C++ Programming Guide's table of technical specifications per compute
 * capability, maximum shared memory per block after opt-in.  Only what a launch can be refused for
 * is here; occupancy belongs to the cost model.
 */
#include <stdlib.h>
#include <string.h>

#include "verify/check/check_int.h"

static const struct {
    long sm;
    size_t smem_bytes_max;
} arch_table[] = {
    {50, 48 << 10},   {60, 48 << 10},   {70, 96 << 10},  {72, 96 << 10},
    {75, 64 << 10},   {80, 163 << 10},  {86, 99 << 10},  {87, 163 << 10},
    {88, 99 << 10},   {89, 99 << 10},   {90, 227 << 10}, {100, 227 << 10},
    {103, 227 << 10}, {110, 227 << 10}, {120, 99 << 10}, {121, 99 << 10},
};

size_t check_smem_bytes_max(const char *arch)
{
    const char *digits = strchr(arch, '_');
    const long sm = digits == NULL ? 0 : strtol(digits + 1, NULL, 10);
    size_t bytes = 48 << 10;

    for (size_t i = 0; i < COUNT_OF(arch_table); i++)
        if (arch_table[i].sm <= sm)
            bytes = arch_table[i].smem_bytes_max;
    return bytes;
}
