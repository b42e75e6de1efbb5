// A dense layer of a micro-batch: three matrix products, and norms without per-record gradients.
#pragma once
#include "dropout.h"
#include "map.h"
#include "tile.h"

// sum[r][v] += row r of a (STRIDE apart) times K rows of NV vectors.
template <int ROWS, int NV, int STRIDE>
static inline void multiply(const float* a, const float* w, int K, Floats (&sum)[ROWS][NV]) {
    for (int k = 0; k < K; k++, w += NV * V) {
        Floats x[NV];
        EACH (v, NV) x[v] = load(w + v * V);
        EACH (r, ROWS) {
            Floats q = splat(a[r * STRIDE + k]);
            EACH (v, NV) sum[r][v] += q * x[v];
        }
    }
}

// O outputs. Parameters: weights (tiles of outputs, inputs, outputs of a tile), then OS biases.
template <class In, int O, bool BIAS, bool BELOW>
struct Dense {
    using To = Map<O, 1, 1>;
    using From = In;
    static constexpr int I = In::SIZE, OS = To::SIZE;
    static constexpr Tile T = even_tile(BATCH, OS / V), BACK = even_tile(BATCH, I / V);
    static constexpr int BIASES = I * OS, PARAMETERS = BIASES + OS;
    static_assert(In::PY == 0 && In::PX == 0 && I % V == 0, "a row of features");

    const float* theta;
    ALIGNED float transposed[BELOW ? O * I : V];  // (tiles of inputs, outputs, inputs of a tile)

    static constexpr int slot(int o, int i) {
        constexpr int N = T.NV * V;
        return (o / N * I + i) * N + o % N;
    }
    static int32_t* layout(int32_t* where, int32_t offset) {
        for (int o = 0; o < O; o++)
            for (int j = 0; j < In::C * In::H * In::W; j++)
                *where++ = offset + slot(o, In::slot(j));
        for (int o = 0; BIAS && o < O; o++) *where++ = offset + BIASES + o;
        return where;
    }

    HOT void pack(const float* parameters) {
        theta = parameters;
        constexpr int N = BACK.NV * V;
        if constexpr (BELOW)
            for (int o0 = 0; o0 < O; o0 += V)  // a vector's width of outputs shares cache lines
                for (int i = 0; i < I; i++)
                    for (int o = o0; o < smaller(o0 + V, O); o++)
                        transposed[(i / N * O + o) * N + i % N] = theta[slot(o, i)];
    }

    HOT void forward(int n, const float* in, float* out, const Draws&) {
        constexpr int N = T.NV * V;
        for (int o = 0; o < OS; o += N)
            for (int s = 0; s < n; s += T.TX) {
                Floats sum[T.TX][T.NV];
                EACH (r, T.TX)
                    EACH (v, T.NV) sum[r][v] = load(theta + BIASES + o + v * V);
                multiply<T.TX, T.NV, In::STEP>(in + s * In::STEP, theta + (size_t)o * I, I, sum);
                EACH (r, T.TX)
                    EACH (v, T.NV) store(out + (s + r) * To::STEP + o + v * V, sum[r][v]);
            }
    }

    // A record's gradient is the outer product of gout and the input: its square is the product of
    // theirs (Goodfellow, "Efficient per-example gradient computations", 2015).
    HOT void backward(int n, const float* in, const float*, const float* gout, float* gin,
                      const Draws&, float* norms) {
        for (int s = 0; s < n; s++)
            norms[s] += squares(gout + s * To::STEP, OS) * (squares(in + s * In::STEP, I) + BIAS);
        if constexpr (BELOW) {
            constexpr int N = BACK.NV * V;
            for (int i = 0; i < I; i += N)
                for (int s = 0; s < n; s += BACK.TX) {
                    Floats sum[BACK.TX][BACK.NV] = {};
                    multiply<BACK.TX, BACK.NV, To::STEP>(gout + s * To::STEP,
                                                         transposed + (size_t)i * O, O, sum);
                    EACH (r, BACK.TX)
                        EACH (v, BACK.NV) store(gin + (s + r) * In::STEP + i + v * V, sum[r][v]);
                }
        }
    }

    // The sum over records of c[s] times their gradients; gout is scaled in place.
    HOT void add(int n, const float* in, float* gout, const float* c, float* total) {
        for (int s = 0; s < n; s++)
            for (int o = 0; o < OS; o += V) {
                float* g = gout + s * To::STEP + o;
                store(g, load(g) * c[s]);
                if (BIAS) store(total + BIASES + o, load(total + BIASES + o) + load(g));
            }
        constexpr int N = T.NV * V, ROWS = smaller(T.TX, V);
        for (int o = 0; o < OS; o += N)
            for (int i = 0; i < I; i += ROWS) {
                float* to = total + (size_t)o * I + i * N;
                Floats sum[ROWS][T.NV];
                EACH (r, ROWS)
                    EACH (v, T.NV) sum[r][v] = load(to + r * N + v * V);
                for (int s = 0; s < n; s++) {
                    Floats x[T.NV];
                    EACH (v, T.NV) x[v] = load(gout + s * To::STEP + o + v * V);
                    EACH (r, ROWS) {
                        Floats q = splat(in[s * In::STEP + i + r]);
                        EACH (v, T.NV) sum[r][v] += q * x[v];
                    }
                }
                EACH (r, ROWS)
                    EACH (v, T.NV) store(to + r * N + v * V, sum[r][v]);
            }
    }
};

// A stage of single records among dense layers.
template <class Stage>
struct Each {
    using To = typename Stage::To;
    using From = typename Stage::From;
    static constexpr int PARAMETERS = 0;
    Stage stage;

    void pack(const float*) {}
    void forward(int n, const float* in, float* out, const Draws& draws) {
        for (int s = 0; s < n; s++)
            stage.forward(s, in + s * From::STEP, out + s * To::STEP, draws, false);
    }
    void backward(int n, const float* in, const float* out, const float* gout, float* gin,
                  const Draws& draws, float*) {
        for (int s = 0; s < n; s++)
            stage.backward(s, in + s * From::STEP, out + s * To::STEP, gout + s * To::STEP,
                           gin + s * From::STEP, draws);
    }
    void add(int, const float*, float*, const float*, float*) {}
    static int32_t* layout(int32_t* where, int32_t) { return where; }
};
