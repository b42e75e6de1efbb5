// Stages in a row: those that carry one record at a time, then those that carry a micro-batch.
#pragma once
#include "block.h"
#include "dense.h"

// Record by record: a convolution's gradients stay in the cache until the record's norm is known.
template <class... Stages>
struct Records {
    static constexpr int PARAMETERS = 0;
    static constexpr bool EMPTY = true;
    void pack(const float*) {}
    void add(float, float*) {}
    static int32_t* layout(int32_t* where, int32_t) { return where; }
};

template <class Stage, class... Rest>
struct Records<Stage, Rest...> {
    using Next = Records<Rest...>;
    static constexpr int PARAMETERS = Stage::PARAMETERS + Next::PARAMETERS;
    static constexpr bool EMPTY = false;
    Stage stage;
    Next rest;
    ALIGNED float out[BATCH * Stage::To::STEP];
    ALIGNED float gradient[Next::EMPTY ? V : Stage::To::STEP];  // of one record, by `out`

    void pack(const float* theta) {
        stage.pack(theta);
        rest.pack(theta + Stage::PARAMETERS);
    }
    void forward(int s, const float* in, const Draws& draws, bool repeated) {
        float* to = out + s * Stage::To::STEP;
        stage.forward(s, in, to, draws, repeated);
        if constexpr (!Next::EMPTY) rest.forward(s, to, draws, false);
    }
    // The outputs of the last stage.
    const float* outputs() const {
        if constexpr (Next::EMPTY) return out;
        else return rest.outputs();
    }
    // The squared norm of the record's gradient, which the stages keep; `top` is that by the
    // last output, and `gin` becomes that by `in` where it is wanted.
    float backward(int s, const float* in, const float* top, float* gin, const Draws& draws) {
        const float* to = out + s * Stage::To::STEP;
        if constexpr (Next::EMPTY) return stage.backward(s, in, to, top, gin, draws);
        else {
            float above = rest.backward(s, to, top, gradient, draws);
            return above + stage.backward(s, in, to, gradient, gin, draws);
        }
    }
    void add(float c, float* sum) {
        stage.add(c, sum);
        rest.add(c, sum + Stage::PARAMETERS);
    }
    static int32_t* layout(int32_t* where, int32_t offset) {
        return Next::layout(Stage::layout(where, offset), offset + Stage::PARAMETERS);
    }
};

// A micro-batch at a time.
template <class... Stages>
struct Rows {
    static constexpr int PARAMETERS = 0;
    static constexpr bool EMPTY = true;
    void pack(const float*) {}
    void add(int, const float*, float*, const float*, float*) {}
    static int32_t* layout(int32_t* where, int32_t) { return where; }
};

template <class Stage, class... Rest>
struct Rows<Stage, Rest...> {
    using Next = Rows<Rest...>;
    static constexpr int PARAMETERS = Stage::PARAMETERS + Next::PARAMETERS;
    static constexpr bool EMPTY = false;
    Stage stage;
    Next rest;
    ALIGNED float out[BATCH * Stage::To::STEP];
    ALIGNED float gradient[Next::EMPTY ? V : BATCH * Stage::To::STEP];

    void pack(const float* theta) {
        stage.pack(theta);
        rest.pack(theta + Stage::PARAMETERS);
    }
    const float* forward(int n, const float* in, const Draws& draws) {
        stage.forward(n, in, out, draws);
        if constexpr (Next::EMPTY) return out;
        else return rest.forward(n, out, draws);
    }
    void backward(int n, const float* in, const float* top, float* gin, const Draws& draws,
                  float* norms) {
        if constexpr (Next::EMPTY) stage.backward(n, in, out, top, gin, draws, norms);
        else {
            rest.backward(n, out, top, gradient, draws, norms);
            stage.backward(n, in, out, gradient, gin, draws, norms);
        }
    }
    void add(int n, const float* in, float* top, const float* c, float* sum) {
        if constexpr (Next::EMPTY) stage.add(n, in, top, c, sum);
        else {
            rest.add(n, out, top, c, sum + Stage::PARAMETERS);
            stage.add(n, in, gradient, c, sum);
        }
    }
    static int32_t* layout(int32_t* where, int32_t offset) {
        return Next::layout(Stage::layout(where, offset), offset + Stage::PARAMETERS);
    }
};
