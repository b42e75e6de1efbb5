// A convolution of one record: its output, and what a gradient by the output means for the
// weights and for the input.
#pragma once
#include "map.h"
#include "tile.h"

// A few gradients by the output, each at a place of the input where its patch begins.
template <int ROOM>
struct Events {
    int n = 0;
    int place[ROOM + 1];
    float value[ROOM + 1];
};

// O filters of KH x KW on a map `In`, SY and SX apart, the first FY and FX inside its border: even
// filters have less of it before the record than behind.
template <class In, int O, int KH, int KW, int SY, int SX, int FY, int FX>
struct Convolution {
    static constexpr int H = (In::H + 2 * In::PY - FY - KH) / SY + 1,
                         W = (In::W + 2 * In::PX - FX - KW) / SX + 1;
    static constexpr int OS = round_up(O, V), OV = OS / V;
    static constexpr Tile T = best_tile(H, W, OV);
    static constexpr int PACKED = KH * KW * In::C * OS;
    // A row of a patch is one run of the input, of R floats in RV vectors.
    static constexpr int R = KW * In::CS, RV = ceil_div(R, V), RS = RV * V;
    static constexpr int FILTER = KH * RS;

    // How far the patch of an output is from that of the first, and where it begins.
    static constexpr int away(int y, int x) { return y * SY * In::ROW + x * SX * In::CS; }
    static constexpr int place(int y, int x) { return away(y, x) + FY * In::ROW + FX * In::CS; }

    // z (H x W x OS) from weights in the order (tiles of outputs, KH, KW, C, outputs of a tile).
    static HOT void forward(const float* in, const float* packed, const float* bias, float* z) {
        for (int o = 0; o < OS; o += T.NV * V)
            for (int y = 0; y < H; y += T.TY)
                for (int x = 0; x < W; x += T.TX) {
                    int ty = smaller(y, H - T.TY), tx = smaller(x, W - T.TX);
                    tile(in + place(ty, tx), packed + (size_t)o * KH * KW * In::C, bias + o,
                         z + (ty * W + tx) * OS + o);
                }
    }

    static inline void tile(const float* in, const float* w, const float* bias, float* z) {
        Floats sum[T.TY][T.TX][T.NV];
        EACH (y, T.TY)
            EACH (x, T.TX)
                EACH (v, T.NV) sum[y][x][v] = load(bias + v * V);
        constexpr int RUNS = In::C == In::CS ? 1 : KW, RUN = In::C == In::CS ? R : In::C;
        for (int ky = 0; ky < KH; ky++)
            for (int run = 0; run < RUNS; run++) {
                const float* p = in + ky * In::ROW + run * In::CS;
                for (int r = 0; r < RUN; r++, p++, w += T.NV * V) {
                    Floats k[T.NV];
                    EACH (v, T.NV) k[v] = load(w + v * V);
                    EACH (y, T.TY)
                        EACH (x, T.TX) {
                            Floats q = splat(p[away(y, x)]);
                            EACH (v, T.NV) sum[y][x][v] += q * k[v];
                        }
                }
            }
        EACH (y, T.TY)
            EACH (x, T.TX)
                EACH (v, T.NV) store(z + (y * W + x) * OS + v * V, sum[y][x][v]);
    }

    // One filter's gradient g (KH x RS) from the events of its output; gives back its square.
    template <class List>
    static inline Floats filter_gradient(const float* in, const List& events, float* g) {
        constexpr int MOST = REGISTERS * 3 / 4;
        if constexpr (KH * RV <= MOST) return filter_rows<KH, RV>(in, events, g, 0, 0);
        constexpr int WIDE = smaller(RV, MOST), REST = RV % WIDE;
        Floats square = {};
        for (int ky = 0; ky < KH; ky++) {
            int i = 0;
            for (; i + WIDE <= RV; i += WIDE) square += filter_rows<1, WIDE>(in, events, g, ky, i);
            if constexpr (REST > 0) square += filter_rows<1, REST>(in, events, g, ky, i);
        }
        return square;
    }

    // ROWS x N vectors of it, in registers.
    template <int ROWS, int N, class List>
    static inline Floats filter_rows(const float* in, const List& events, float* g, int ky, int i) {
        Floats sum[ROWS][N] = {}, square = {};
        const float* from = in + ky * In::ROW + i * V;
        for (int e = 0; e < events.n; e++) {
            const float* p = from + events.place[e];
            Floats value = splat(events.value[e]);
            EACH (y, ROWS)
                EACH (v, N) sum[y][v] += value * load(p + y * In::ROW + v * V);
        }
        EACH (y, ROWS)
            EACH (v, N) {
                Floats part = sum[y][v];
                if (R != RS && i + v == RV - 1) part = behind_row() ? Floats{} : part;
                store(g + (ky + y) * RS + (i + v) * V, part);
                square += part * part;
            }
        return square;
    }

    // The lanes of a row's last vector that are no longer of the row.
    static inline Ints behind_row() {
        Ints lane;
        for (int i = 0; i < V; i++) lane[i] = i;
        return lane >= R - (RV - 1) * V;
    }

    // Adds to the input's gradient what the events of one filter w (KH x RS) give.
    template <class List>
    static inline void input_gradient(const float* w, const List& events, float* g) {
        for (int ky = 0; ky < KH; ky++)
            for (int e = 0; e < events.n; e++) {
                Floats value = splat(events.value[e]);
                float* p = g + events.place[e] + ky * In::ROW;
                const float* k = w + ky * RS;
                EACH (v, RV) store(p + v * V, load(p + v * V) + value * load(k + v * V));
            }
    }

    // Vectors over outputs instead of over the patch: for a map of few channels, whose rows would
    // fill no vector. All filters' gradients g (KH x R x OS) from gradients gz by all outputs.
    static constexpr int TAP_ROWS = [] {
        for (int rows = KH; rows > 1; rows--)
            if (KH % rows == 0 && rows * R + 2 <= REGISTERS) return rows;
        return 1;
    }();
    static HOT Floats all_gradients(const float* in, const float* gz, float* g) {
        Floats square = {};
        for (int o = 0; o < OS; o += V)
            for (int ky = 0; ky < KH; ky += TAP_ROWS) {
                Floats sum[TAP_ROWS][R] = {};
                for (int y = 0; y < H; y++)
                    for (int x = 0; x < W; x++) {
                        Floats value = load(gz + (y * W + x) * OS + o);
                        const float* p = in + place(y, x) + ky * In::ROW;
                        EACH (a, TAP_ROWS)
                            EACH (r, R) sum[a][r] += value * splat(p[a * In::ROW + r]);
                    }
                EACH (a, TAP_ROWS)
                    EACH (r, R) {
                        store(g + ((ky + a) * R + r) * OS + o, sum[a][r]);
                        square += sum[a][r] * sum[a][r];
                    }
            }
        return square;
    }
};
