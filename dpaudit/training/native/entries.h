// What Python calls. The file that includes this one says before which network `Net` is.
#pragma once
#include <new>

#include "worker.h"

using Here = Worker<Net>;

extern "C" {
void* create() { return new (std::nothrow) Here(); }
void destroy(void* worker) { delete (Here*)worker; }

int32_t vector_width() { return V; }
int32_t record_step() { return Net::STEP; }
int32_t parameters() { return Net::PARAMETERS; }
// Where each of torch's parameters lies among ours, which have padding in between.
void layout(int32_t* where) { Net::layout(where); }

// `masks`: of each dropout layer, 0 or 65535 for each value of each record.
void clipped_sum(void* worker, const Data* data, const uint16_t* const* masks, const float* theta,
                 double clip, float* out) {
    Here& here = *(Here*)worker;
    here.begin(*data, 0, DROPOUT, masks);
    for (Dropout& dropout : here.dropouts) dropout.threshold = larger(dropout.threshold, 1);
    here.net.pack(theta);
    here.clipped_sum(*data, nullptr, data->records, (float)clip, 0);
    memcpy(out, here.sum, sizeof(float) * Net::PARAMETERS);
}

// Steps first to last - 1. Nothing but theta is carried from one to the next.
void descend(void* worker, const Data* data, const Run* run, const Canaries* canaries,
             float* theta, int32_t* chosen, int64_t first, int64_t last) {
    Here& here = *(Here*)worker;
    here.begin(*data, run->seed, DROPOUT);
    for (int64_t t = first; t < last; t++)
        here.step(*data, *run, *canaries, theta, chosen, (uint32_t)t);
}

// Passes first to last - 1.
void mc_dropout(void* worker, const Data* data, const float* theta, int64_t first, int64_t last,
                uint64_t seed, float* out) {
    Here& here = *(Here*)worker;
    here.begin(*data, seed, MC_DROPOUT);
    here.net.pack(theta);
    here.mc_dropout(*data, first, last, out);
}

// For tests: 16 blocks of Threefry-4x32-20, their first words, their second ones, ...
void threefry_blocks(uint64_t seed, uint32_t step, uint32_t block, uint32_t* out) {
    draw<20>(Key(seed, step, (Purpose)0), block, 0, out);
}
}
