// Max-pooling of one record: which value of each window is the largest, and the way back to it.
#pragma once
#include "dropout.h"
#include "map.h"

// Windows of KH x KW values, SY and SX apart, over H x W values with a border of PY and PX that
// is never chosen. The winner is a window's first largest value, as in torch.
template <int H, int W, int KH, int KW, int SY, int SX, int PY, int PX>
struct Windows {
    static constexpr int SIZE = KH * KW, WIDTH = KW;
    static constexpr bool OVERLAP = SY < KH || SX < KW, BORDER = PY > 0 || PX > 0;

    static constexpr int top(int py) { return py * SY - PY; }
    static constexpr int left(int px) { return px * SX - PX; }
    static constexpr bool inside(int y, int x) {
        return !BORDER || (y >= 0 && y < H && x >= 0 && x < W);
    }

    // The largest `value(y, x)` of window (py, px) and, in `winner`, its number in the window.
    template <class Value>
    static inline Floats largest(int py, int px, Value value, Ints& winner) {
        const int y = top(py), x = left(px);
        const int dy = y < 0 ? -y : 0, dx = x < 0 ? -x : 0;
        Floats most = value(y + dy, x + dx);
        winner = Ints{} + (dy * KW + dx);
        for (int a = 0; a < KH; a++)
            for (int b = 0; b < KW; b++) {
                if ((!BORDER && a + b == 0) || !inside(y + a, x + b)) continue;
                Floats q = value(y + a, x + b);
                Ints more = ~(q <= most);  // so written, a NaN goes through
                most = more ? q : most;
                winner = more ? Ints{} + (a * KW + b) : winner;
            }
        return most;
    }

    // Calls `add(y, x, part)` with the part of the gradient g that goes to each value of a window.
    template <class Add>
    static inline void give_back(int py, int px, Floats g, Ints winner, Add add) {
        const int y = top(py), x = left(px);
        for (int a = 0; a < KH; a++)
            for (int b = 0; b < KW; b++)
                if (inside(y + a, x + b)) add(y + a, x + b, winner == a * KW + b ? g : Floats{});
    }
};

// A pooling that stands alone.
template <class In, class Out, class Window, bool BELOW>
struct Pool {
    using To = Out;
    using From = In;
    static constexpr int PARAMETERS = 0;
    uint16_t winners[BATCH][Out::H * Out::W * Out::CS];

    void pack(const float*) {}
    void forward(int s, const float* in, float* out, const Draws&, bool) {
        for (int py = 0; py < Out::H; py++)
            for (int px = 0; px < Out::W; px++)
                for (int c = 0; c < Out::CS; c += V) {
                    Ints winner;
                    auto value = [&](int y, int x) { return load(in + In::at(y, x) + c); };
                    store(out + Out::at(py, px) + c, Window::largest(py, px, value, winner));
                    store_halves(winners[s] + (py * Out::W + px) * Out::CS + c, winner);
                }
    }
    float backward(int s, const float*, const float*, const float* gout, float* gin, const Draws&) {
        if (!BELOW) return 0;
        memset(gin, 0, sizeof(float) * In::SIZE);
        for (int py = 0; py < Out::H; py++)
            for (int px = 0; px < Out::W; px++)
                for (int c = 0; c < Out::CS; c += V) {
                    Floats g = load(gout + Out::at(py, px) + c);
                    Ints winner = load_halves(winners[s] + (py * Out::W + px) * Out::CS + c);
                    Window::give_back(py, px, g, winner, [&](int y, int x, Floats part) {
                        float* p = gin + In::at(y, x) + c;
                        store(p, load(p) + part);
                    });
                }
        return 0;
    }
    void add(float, float*) {}
    static int32_t* layout(int32_t* where, int32_t) { return where; }
};
