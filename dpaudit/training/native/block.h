// Convolution, ReLU, dropout and max-pooling in one: on the way back, where it saves time, only
// the values that won their window are visited.
#pragma once
#include "conv.h"
#include "gate.h"
#include "pool.h"

// RELU and dropout number LAYER may be missing (a dropout only follows a ReLU); no pooling is
// windows of 1 x 1. Parameters: the weights, then OS biases.
template <class In, class Out, class Conv, int O, int KH, int KW, class Window, bool BIAS,
          bool RELU, int LAYER, bool BELOW>
struct Block {
    using To = Out;
    using From = In;
    using Convolved = Conv;
    static constexpr int H = Conv::H, W = Conv::W, OS = Conv::OS;
    static constexpr int WINDOWS = Out::H * Out::W, POSITIONS = H * W;
    static constexpr bool DROPS = LAYER != NONE;
    static constexpr int DRAWS = round_up(O, LANES);  // random numbers of a position

    // Whether the weights lie by tap, outputs side by side, or each filter by itself: the cheaper
    // in half cycles, for seven tenths of the windows with a winner above zero.
    static constexpr bool BY_TAP =
        !BELOW && Conv::R + 2 <= REGISTERS &&
        10l * POSITIONS * KH * Conv::R * Conv::OV < (long)O * WINDOWS * (60 + 7 * KH * Conv::RV);
    static constexpr int WEIGHTS = BY_TAP ? KH * Conv::R * OS : O * Conv::FILTER;
    static constexpr int PARAMETERS = round_up(WEIGHTS, V) + OS;
    static constexpr int BIASES = PARAMETERS - OS;

    const float* theta;
    ALIGNED float packed[Conv::PACKED];
    ALIGNED float z[POSITIONS * OS];
    ALIGNED float gz[POSITIONS * OS];
    ALIGNED float g[PARAMETERS];
    Events<BY_TAP ? 1 : Window::OVERLAP ? POSITIONS : WINDOWS> events;
    uint16_t room[POSITIONS * DRAWS + 2 * DRAWN];
    uint16_t winners[BATCH][WINDOWS * OS];

    static constexpr int slot(int o, int c, int ky, int kx) {
        int r = kx * In::CS + c;
        return BY_TAP ? (ky * Conv::R + r) * OS + o : o * Conv::FILTER + ky * Conv::RS + r;
    }
    static int32_t* layout(int32_t* where, int32_t offset) {
        for (int o = 0; o < O; o++)
            for (int c = 0; c < In::C; c++)
                for (int ky = 0; ky < KH; ky++)
                    for (int kx = 0; kx < KW; kx++) *where++ = offset + slot(o, c, ky, kx);
        for (int o = 0; BIAS && o < O; o++) *where++ = offset + BIASES + o;
        return where;
    }

    HOT void pack(const float* parameters) {
        theta = parameters;
        constexpr int N = Conv::T.NV * V;
        float* w = packed;
        for (int o = 0; o < OS; o += N)
            for (int ky = 0; ky < KH; ky++)
                for (int kx = 0; kx < KW; kx++)
                    for (int c = 0; c < In::C; c++)
                        for (int i = 0; i < N; i++)
                            *w++ = o + i < O ? theta[slot(o + i, c, ky, kx)] : 0;
    }

    // `repeated`: the record is that of the call before, and z still its convolution.
    void forward(int s, const float* in, float* out, const Draws& draws, bool repeated) {
        if (!repeated) Conv::forward(in, packed, theta + BIASES, z);
        const uint16_t* draw = nullptr;
        if constexpr (DROPS) draw = draws.of(LAYER, s, POSITIONS * DRAWS, room);
        pool(draw, DROPS ? draws.layers[DROPS ? LAYER : 0] : Dropout(), out, winners[s]);
    }

    HOT void pool(const uint16_t* draw, Dropout dropout, float* out, uint16_t* winners) const {
        for (int py = 0; py < Out::H; py++)
            for (int px = 0; px < Out::W; px++)
                for (int o = 0; o < OS; o += V) {
                    auto value = [&](int y, int x) {
                        const int i = y * W + x;
                        Floats q = load(z + i * OS + o);
                        if (!RELU) return q;
                        Ints open = ~(q <= 0.0f);
                        if (DROPS) open &= load_halves(draw + i * DRAWS + o) >= dropout.threshold;
                        return open ? q * dropout.scale : Floats{};
                    };
                    Ints winner;
                    store(out + Out::at(py, px) + o, Window::largest(py, px, value, winner));
                    store_halves(winners + (py * Out::W + px) * OS + o, winner);
                }
    }

    HOT float backward(int s, const float* in, const float* out, const float* gout, float* gin,
                       const Draws& draws) {
        const float scale = DROPS ? draws.layers[DROPS ? LAYER : 0].scale : 1;
        if (BELOW) memset(gin, 0, sizeof(float) * In::SIZE);
        if constexpr (BY_TAP || Window::OVERLAP) spread(winners[s], out, gout, scale);
        Floats square = {};
        float biases = 0;
        if constexpr (BY_TAP) {
            square = Conv::all_gradients(in, gz, g);
            if (BIAS) square += sum_positions();
        } else {
            for (int o = 0; o < O; o++) {
                float bias = Window::OVERLAP ? collect_spread(o, events)
                                             : collect(winners[s], out, gout, scale, o, events);
                if (BIAS) g[BIASES + o] = bias, biases += bias * bias;
                square += Conv::filter_gradient(in, events, g + o * Conv::FILTER);
                if (BELOW) Conv::input_gradient(theta + o * Conv::FILTER, events, gin);
            }
        }
        return total(square) + biases;
    }

    // The gradient by each position's output before ReLU: zero but for winners.
    void spread(const uint16_t* winners, const float* out, const float* gout, float scale) {
        memset(gz, 0, sizeof gz);
        for (int py = 0; py < Out::H; py++)
            for (int px = 0; px < Out::W; px++)
                for (int o = 0; o < OS; o += V) {
                    Floats part = load(gout + Out::at(py, px) + o) * scale;
                    if (RELU) part = ~(load(out + Out::at(py, px) + o) <= 0.0f) ? part : Floats{};
                    Ints winner = load_halves(winners + (py * Out::W + px) * OS + o);
                    Window::give_back(py, px, part, winner, [&](int y, int x, Floats share) {
                        float* p = gz + (y * W + x) * OS + o;
                        store(p, load(p) + share);
                    });
                }
    }

    Floats sum_positions() {
        Floats square = {};
        for (int o = 0; o < OS; o += V) {
            Floats sum = {};
            for (int i = 0; i < POSITIONS; i++) sum += load(gz + i * OS + o);
            store(g + BIASES + o, sum);
            square += sum * sum;
        }
        return square;
    }

    // The events of output o, and their sum: of every position that is not zero.
    template <class List>
    inline float collect_spread(int o, List& events) const {
        float sum = 0;
        int n = 0;
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                float value = gz[(y * W + x) * OS + o];
                events.place[n] = Conv::place(y, x);
                events.value[n] = value;
                n += value != 0;
                sum += value;
            }
        events.n = n;
        return sum;
    }

    // The same where no windows overlap: of each window's winner.
    template <class List>
    static inline float collect(const uint16_t* winners, const float* out, const float* gout,
                                float scale, int o, List& events) {
        static constexpr Taps taps = {};
        float sum = 0;
        int n = 0;
        for (int py = 0; py < Out::H; py++)
            for (int px = 0; px < Out::W; px++) {
                const int i = Out::at(py, px) + o, tap = winners[(py * Out::W + px) * OS + o];
                const float value = gout[i] * scale;
                const bool open = !RELU || !(out[i] <= 0);
                events.place[n] = Conv::place(Window::top(py), Window::left(px)) + taps.place[tap];
                events.value[n] = value;
                n += open;
                sum += open ? value : 0;
            }
        events.n = n;
        return sum;
    }

    // By how much each value of a window moves the patch.
    struct Taps {
        int place[Window::SIZE];
        constexpr Taps() : place() {
            for (int i = 0; i < Window::SIZE; i++)
                place[i] = Conv::away(i / Window::WIDTH, i % Window::WIDTH);
        }
    };

    void add(float c, float* sum) const {
        for (int i = 0; i < PARAMETERS; i += V) store(sum + i, load(sum + i) + c * load(g + i));
    }
};
