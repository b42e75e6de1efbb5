// ReLU and dropout, alone or after each other: each value goes through scaled, or not at all.
#pragma once
#include "dropout.h"
#include "map.h"

constexpr int NONE = -1;  // no dropout layer

// max(x, 0) where RELU, then dropout number LAYER where it is not NONE.
template <class In, class Out, bool RELU, int LAYER, bool BELOW>
struct Gate {
    using To = Out;
    using From = In;
    static constexpr int PARAMETERS = 0, PIXELS = In::H * In::W;
    static constexpr int DRAWS = round_up(In::C, LANES);  // random numbers of a pixel
    static constexpr bool DROPS = LAYER != NONE;
    uint16_t room[PIXELS * DRAWS + 2 * DRAWN];
    float factor[BATCH][PIXELS * In::CS];  // what each value was multiplied by

    void pack(const float*) {}
    void forward(int s, const float* in, float* out, const Draws& draws, bool) {
        const uint16_t* draw = nullptr;
        Dropout dropout;
        if constexpr (DROPS) {
            draw = draws.of(LAYER, s, PIXELS * DRAWS, room);
            dropout = draws.layers[LAYER];
        }
        for (int i = 0; i < PIXELS; i++)
            for (int c = 0; c < In::CS; c += V) {
                Floats value = load(in + In::at(i / In::W, i % In::W) + c);
                Ints open = Ints{} - 1;
                if (RELU) open &= ~(value <= 0.0f);
                if (DROPS) open &= load_halves(draw + i * DRAWS + c) >= dropout.threshold;
                Floats f = open ? splat(dropout.scale) : Floats{};
                store(factor[s] + i * In::CS + c, f);
                store(out + Out::at(i / In::W, i % In::W) + c, open ? value * f : Floats{});
            }
    }
    float backward(int s, const float*, const float*, const float* gout, float* gin, const Draws&) {
        if (!BELOW) return 0;
        for (int i = 0; i < PIXELS; i++)
            for (int c = 0; c < In::CS; c += V) {
                Floats g = load(gout + Out::at(i / In::W, i % In::W) + c);
                store(gin + In::at(i / In::W, i % In::W) + c,
                      g * load(factor[s] + i * In::CS + c));
            }
        return 0;
    }
    void add(float, float*) {}
    static int32_t* layout(int32_t* where, int32_t) { return where; }
};
