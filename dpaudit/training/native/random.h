// Random numbers that are a function of a key and a counter, so that no draw shifts another.
// Threefry: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
#pragma once
#include "maths.h"
#include "vector.h"

enum Purpose : uint32_t { COINS = 1, CANARY = 2, NOISE = 3, DROPOUT = 4, MC_DROPOUT = 5 };

// Which stream: all of the seed, a step of the descent, a purpose and (dropout) a layer.
struct Key {
    uint32_t word[4];
    Key(uint64_t seed, uint32_t step, Purpose purpose, uint32_t layer = 0)
        : word{(uint32_t)seed, (uint32_t)(seed >> 32), step, (uint32_t)purpose << 16 | layer} {}
};

static inline Words rotate(Words x, int by) { return x << by | x >> (32 - by); }

// V blocks of Threefry-4x32 at once, numbers `block` to `block + V - 1`, in the lanes of four
// vectors. 20 rounds are the authors' choice, 12 the fewest that pass all of their tests.
template <int ROUNDS>
static inline void threefry(const Key& key, uint32_t block, uint64_t record, Words x[4]) {
    constexpr int R[8][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5},
                             {6, 20},  {17, 11}, {25, 10}, {18, 20}};
    const uint32_t* k = key.word;
    const uint32_t ks[5] = {k[0], k[1], k[2], k[3], 0x1BD11BDA ^ k[0] ^ k[1] ^ k[2] ^ k[3]};
    Words lanes;
    for (int i = 0; i < V; i++) lanes[i] = i;
    x[0] = lanes + (block + ks[0]);
    x[1] = Words{} + ((uint32_t)record + ks[1]);
    x[2] = Words{} + ((uint32_t)(record >> 32) + ks[2]);
    x[3] = Words{} + ks[3];
    EACH (r, ROUNDS) {
        const int a = r % 2 ? 3 : 1, b = r % 2 ? 1 : 3;
        x[0] += x[a];
        x[a] = rotate(x[a], R[r % 8][0]) ^ x[0];
        x[2] += x[b];
        x[b] = rotate(x[b], R[r % 8][1]) ^ x[2];
        if (r % 4 == 3) {
            const int n = (r + 1) / 4;
            EACH (i, 4) x[i] += ks[(n + i) % 5];
            x[3] += (uint32_t)n;
        }
    }
}

// 16 blocks from number `block` on, however wide the machine's vectors are: a draw is the same
// everywhere. Word k of block l is out[16 k + l].
constexpr int LANES = 16, DRAWN = 4 * LANES;
template <int ROUNDS>
static inline void draw(const Key& key, uint32_t block, uint64_t record, uint32_t* out) {
    EACH (part, LANES / V) {
        Words x[4];
        threefry<ROUNDS>(key, block + part * V, record, x);
        EACH (k, 4) memcpy(out + k * LANES + part * V, &x[k], sizeof x[k]);
    }
}

// `count` numbers of 16 bits, rounded up to 2 DRAWN of them.
static HOT void draw_halves(const Key& key, uint64_t record, int count, uint16_t* out) {
    for (int i = 0, block = 0; i < count; i += 2 * DRAWN, block += LANES) {
        uint32_t words[DRAWN];
        draw<12>(key, block, record, words);
        memcpy(out + i, words, sizeof words);
    }
}

// The records whose coin of 32 bits falls below `rate`: their numbers, in order. Each record has
// a coin of its own, whatever the number of records. `chosen` has room for DRAWN more.
static HOT int64_t poisson(const Key& key, int64_t records, double rate, int32_t* chosen) {
    const uint64_t below = (uint64_t)(rate * 4294967296.0 + 0.5);
    int64_t n = 0;
    for (int64_t i = 0, block = 0; i < records; i += DRAWN, block += LANES) {
        uint32_t coins[DRAWN];
        draw<20>(key, (uint32_t)block, 0, coins);
        for (int j = 0; j < DRAWN; j++) {
            chosen[n] = (int32_t)(i + j);
            n += i + j < records && coins[j] < below;
        }
    }
    return n;
}

// DRAWN standard normal numbers, by Box and Muller from 32 bits each: |z| < 6.8.
static inline void normals(const Key& key, uint32_t block, float* z) {
    uint32_t words[DRAWN];
    draw<20>(key, block, 0, words);
    for (int k = 0; k < 4; k += 2)
        for (int l = 0; l < LANES; l += V) {
            Words first, second;
            memcpy(&first, words + k * LANES + l, sizeof first);
            memcpy(&second, words + (k + 1) * LANES + l, sizeof second);
            // A sum before the conversion would wrap; after it, only tiny numbers notice the half.
            Floats u = (__builtin_convertvector(first, Floats) + 0.5f) * 0x1p-32f;
            Floats angle = __builtin_convertvector((Ints)second, Floats) * 0x1p-32f;
            Floats radius = root(-2 * logarithm(u)), sine, cosine;
            turn(angle, sine, cosine);
            store(z + k * LANES + l, radius * cosine);
            store(z + (k + 1) * LANES + l, radius * sine);
        }
}
