// A worker: a network with room for its sums, that descends or predicts.
#pragma once
#include "network.h"

// Laid out as `NativeData` in library.py.
struct Data {
    const float* x;    // records, STEP floats each
    const int32_t* y;  // labels
    int64_t records;
    const double* p;  // of each dropout layer
    int32_t layers;
};

// Laid out as `NativeRun` in library.py.
struct Run {
    double sample_rate, rate_per_sum, clip, noise_multiplier;
    uint64_t seed;
    const int32_t* where;  // each of torch's parameters among ours
    int64_t parameters;    // of torch's
};

// Laid out as `Canaries` in library.py.
struct Canaries {
    const float* directions;  // PARAMETERS floats each
    const bool* inserted;
    int64_t count;
    double rate;                    // of an inserted one's coin
    double *products, *background;  // of each step and canary
};

template <class Net>
struct Worker {
    Net net;
    ALIGNED float sum[Net::PARAMETERS];
    ALIGNED float of_records[Net::PARAMETERS];  // the sum before canaries, where there are any
    Dropout dropouts[64];
    Batch batch;

    void begin(const Data& data, uint64_t seed, Purpose purpose,
               const uint16_t* const* masks = nullptr) {
        for (int i = 0; i < data.layers; i++) dropouts[i] = Dropout(data.p[i], masks != nullptr);
        batch.draws.layers = dropouts;
        batch.draws.seed = seed;
        batch.draws.purpose = purpose;
        batch.draws.given = masks;
    }

    void take(const Data& data, int64_t record, uint32_t step) {
        int s = batch.n++;
        batch.x[s] = data.x + record * Net::STEP;
        batch.y[s] = data.y ? data.y[record] : 0;
        batch.draws.record[s] = record;
        batch.draws.step[s] = step;
    }

    // The sum over the chosen records (null: all), however many, a micro-batch at a time.
    void clipped_sum(const Data& data, const int32_t* chosen, int64_t n, float clip,
                     uint32_t step) {
        memset(sum, 0, sizeof sum);
        for (int64_t i = 0; i < n;) {
            batch.n = 0;
            for (; i < n && batch.n < BATCH; i++) take(data, chosen ? chosen[i] : i, step);
            net.add_clipped(batch, clip, sum);
        }
    }

    // One step of DP-SGD in place.
    void step(const Data& data, const Run& run, const Canaries& canaries, float* theta,
              int32_t* chosen, uint32_t t) {
        net.pack(theta);
        bool all = run.sample_rate >= 1;
        int64_t n = all ? data.records
                        : poisson(Key(run.seed, t, COINS), data.records, run.sample_rate, chosen);
        clipped_sum(data, all ? nullptr : chosen, n, (float)run.clip, t);
        if (canaries.count) insert(canaries, run, chosen, t);
        if (run.noise_multiplier > 0) add_noise(run, t);
        const float rate = (float)run.rate_per_sum;
        for (int i = 0; i < Net::PARAMETERS; i++) theta[i] -= rate * sum[i];
        see(canaries, run.clip, t);
    }

    // Adds C times the inserted directions whose coins fall.
    HOT void insert(const Canaries& canaries, const Run& run, int32_t* chosen, uint32_t t) {
        memcpy(of_records, sum, sizeof sum);
        const float clip = (float)run.clip;
        int64_t n = poisson(Key(run.seed, t, CANARY), canaries.count, canaries.rate, chosen);
        for (int64_t k = 0; k < n; k++) {
            if (!canaries.inserted[chosen[k]]) continue;
            const float* g = canaries.directions + (int64_t)chosen[k] * Net::PARAMETERS;
            for (int i = 0; i < Net::PARAMETERS; i++) sum[i] += clip * g[i];
        }
    }

    // Inner products with the noisy sum and with that of the records, in units of C.
    HOT void see(const Canaries& canaries, double clip, uint32_t t) {
        for (int64_t j = 0; j < canaries.count; j++) {
            const float* g = canaries.directions + j * Net::PARAMETERS;
            const int64_t here = t * canaries.count + j;
            canaries.products[here] = dot(sum, g, Net::PARAMETERS) / clip;
            canaries.background[here] = dot(of_records, g, Net::PARAMETERS) / clip;
        }
    }

    HOT void add_noise(const Run& run, uint32_t t) {
        const float deviation = (float)(run.noise_multiplier * run.clip);
        const Key key(run.seed, t, NOISE);
        uint32_t block = 0;
        for (int64_t i = 0; i < run.parameters; i += DRAWN, block += LANES) {
            float z[DRAWN];
            normals(key, block, z);
            const int64_t left = run.parameters - i;
            for (int j = 0; j < DRAWN && j < left; j++)
                sum[run.where[i + j]] += deviation * z[j];
        }
    }

    // Probabilities (passes, records, CLASSES) with dropout on, of passes first to last - 1.
    void mc_dropout(const Data& data, int64_t first, int64_t last, float* out) {
        for (int64_t r = 0; r < data.records; r++)
            for (int64_t t = first; t < last;) {
                batch.n = 0;
                const int64_t from = t;
                for (; t < last && batch.n < BATCH; t++) take(data, r, (uint32_t)t);
                const float* logits = net.forward(batch, true);
                for (int s = 0; s < batch.n; s++) {
                    float* p = out + ((from + s) * data.records + r) * Net::CLASSES;
                    float sum = Net::exponentials(logits + s * Net::LOGITS_STEP, p);
                    for (int j = 0; j < Net::CLASSES; j++) p[j] /= sum;
                }
            }
    }
};
