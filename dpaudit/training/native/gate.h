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
    static constexpr int PARAMETERS = 0, WIDTH = In::W * In::CS;
    static constexpr bool DROPS = LAYER != NONE;
    uint16_t room[In::H * WIDTH + 8 * V];
    float factor[BATCH][In::H * WIDTH];  // what each value was multiplied by

    void pack(const float*) {}
    void forward(int s, const float* in, float* out, const Draws& draws, bool) {
        const uint16_t* draw = nullptr;
        Dropout dropout;
        if constexpr (DROPS) {
            draw = draws.of(LAYER, s, In::H * WIDTH, room);
            dropout = draws.layers[LAYER];
        }
        for (int y = 0, i = 0; y < In::H; y++)
            for (int x = 0; x < WIDTH; x += V, i += V) {
                Floats value = load(in + In::at(y, 0) + x);
                Ints open = Ints{} - 1;
                if (RELU) open &= ~(value <= 0.0f);
                if (DROPS) open &= load_halves(draw + i) >= dropout.threshold;
                Floats f = open ? splat(dropout.scale) : Floats{};
                store(factor[s] + i, f);
                store(out + Out::at(y, 0) + x, open ? value * f : Floats{});
            }
    }
    float backward(int s, const float*, const float*, const float* gout, float* gin, const Draws&) {
        if (!BELOW) return 0;
        for (int y = 0, i = 0; y < In::H; y++)
            for (int x = 0; x < WIDTH; x += V, i += V)
                store(gin + In::at(y, 0) + x, load(gout + Out::at(y, 0) + x) * load(factor[s] + i));
        return 0;
    }
    void add(float, float*) {}
    static int32_t* layout(int32_t* where, int32_t) { return where; }
};
