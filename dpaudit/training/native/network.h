// A network: from records to logits, and from the loss to the sum of clipped gradients.
#pragma once
#include "chain.h"

// A micro-batch of n <= BATCH records.
struct Batch {
    int n = 0;
    const float* x[BATCH];
    int32_t y[BATCH];
    Draws draws;
};

// Input, features (the records' last map, or the input itself) and logits are maps.
template <class Input, class Features, class Logits, class Images, class Flat>
struct Network {
    static constexpr int STEP = Input::STEP, LOGITS_STEP = Logits::STEP,
                         CLASSES = Logits::C * Logits::H * Logits::W;
    static constexpr int PARAMETERS = Images::PARAMETERS + Flat::PARAMETERS;

    Images images;
    Flat flat;
    ALIGNED float copied[Images::EMPTY ? BATCH * Features::STEP : V];
    ALIGNED float by_logits[BATCH * Logits::STEP];
    ALIGNED float by_features[BATCH * Features::STEP];

    static void layout(int32_t* where) {
        Flat::layout(Images::layout(where, 0), Images::PARAMETERS);
    }

    void pack(const float* theta) {
        images.pack(theta);
        flat.pack(theta + Images::PARAMETERS);
    }

    const float* features() const {
        if constexpr (Images::EMPTY) return copied;
        else return images.outputs();
    }

    // Logits, a row (Logits::STEP apart) per record. `alike`: all records are the same one.
    const float* forward(const Batch& batch, bool alike = false) {
        for (int s = 0; s < batch.n; s++)
            if constexpr (Images::EMPTY)
                memcpy(copied + s * Features::STEP, batch.x[s], sizeof(float) * Features::SIZE);
            else images.forward(s, batch.x[s], batch.draws, alike && s > 0);
        if constexpr (Flat::EMPTY) return features();
        else return flat.forward(batch.n, features(), batch.draws);
    }

    // exp(logit - the largest) of one record, and their sum.
    static float exponentials(const float* logits, float* out) {
        float most = logits[Logits::slot(0)], sum = 0;
        for (int j = 1; j < CLASSES; j++) most = std::fmax(most, logits[Logits::slot(j)]);
        for (int j = 0; j < CLASSES; j++) sum += out[j] = std::exp(logits[Logits::slot(j)] - most);
        return sum;
    }

    // Adds the clipped gradients of a micro-batch to `sum`.
    void add_clipped(const Batch& batch, float clip, float* sum) {
        const float* logits = forward(batch);
        float norms[BATCH] = {}, c[BATCH];
        for (int s = 0; s < batch.n; s++)
            cross_entropy_gradient(logits + s * Logits::STEP, batch.y[s],
                                   by_logits + s * Logits::STEP);
        float* top = by_logits;
        if constexpr (!Flat::EMPTY) {
            flat.backward(batch.n, features(), by_logits, by_features, batch.draws, norms);
            top = by_features;
        }
        for (int s = 0; s < batch.n; s++) {
            if constexpr (!Images::EMPTY)
                norms[s] +=
                    images.backward(s, batch.x[s], top + s * Features::STEP, nullptr, batch.draws);
            float norm = std::sqrt(norms[s]);
            c[s] = norm > clip ? clip / norm : 1;
            images.add(c[s], sum);
        }
        if constexpr (!Flat::EMPTY)
            flat.add(batch.n, features(), by_logits, c, sum + Images::PARAMETERS);
    }

    // softmax - 1 at the label; zero behind the logits.
    static void cross_entropy_gradient(const float* logits, int label, float* g) {
        float p[CLASSES], sum = exponentials(logits, p);
        memset(g, 0, sizeof(float) * Logits::SIZE);
        for (int j = 0; j < CLASSES; j++) g[Logits::slot(j)] = p[j] / sum - (j == label);
    }
};
