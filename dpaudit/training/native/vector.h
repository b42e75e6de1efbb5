// A vector register of floats, as wide as the machine has it, and the few things done with it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
constexpr int V = 16;          // floats in a vector
constexpr int REGISTERS = 32;  // vectors that a loop can hold
#elif defined(__AVX__)
constexpr int V = 8;
constexpr int REGISTERS = 16;
#else
constexpr int V = 4;
constexpr int REGISTERS = 16;
#endif

typedef float Floats __attribute__((vector_size(V * 4)));
typedef int32_t Ints __attribute__((vector_size(V * 4)));
typedef uint32_t Words __attribute__((vector_size(V * 4)));
typedef uint16_t Halves __attribute__((vector_size(V * 2)));
typedef float AnyFloats __attribute__((vector_size(V * 4), aligned(4), may_alias));

// A hot function stays one function: gcc's clones of them were up to 1.8 times slower.
#if defined(__clang__)
#define HOT __attribute__((noinline))
#define UNROLLED _Pragma("unroll")
#else
#define HOT __attribute__((noinline, noclone))
#define UNROLLED _Pragma("GCC unroll 64")
#endif
#define ALIGNED alignas(64)

// An unrolled loop, so that an array indexed by its variables can live in registers.
#define EACH(i, n) UNROLLED for (int i = 0; i < (n); i++)

static inline Floats load(const float* p) { return *(const AnyFloats*)p; }
static inline void store(float* p, Floats x) { *(AnyFloats*)p = x; }
// Not x + 0, which differs from x for -0 and so costs an addition.
static inline Floats splat(float x) { return x - Floats{}; }

static inline Ints load_halves(const uint16_t* p) {
#if defined(__AVX512F__)  // gcc 12 would widen two halves and join them
    return (Ints)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p));
#endif
    Halves h;
    memcpy(&h, p, sizeof h);
    return __builtin_convertvector(h, Ints);
}
static inline void store_halves(uint16_t* p, Ints x) {
    Halves h = __builtin_convertvector(x, Halves);
    memcpy(p, &h, sizeof h);
}

constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
constexpr int smaller(int a, int b) { return a < b ? a : b; }
constexpr int larger(int a, int b) { return a > b ? a : b; }

static inline float total(Floats x) {
    float sum = 0;
    for (int i = 0; i < V; i++) sum += x[i];
    return sum;
}

static inline float squares(const float* p, int n) {  // n a multiple of V
    Floats a = {}, b = {};
    int i = 0;
    for (; i + 2 * V <= n; i += 2 * V) {
        a += load(p + i) * load(p + i);
        b += load(p + i + V) * load(p + i + V);
    }
    if (i < n) a += load(p + i) * load(p + i);
    return total(a + b);
}

// In doubles, but for runs of 64 vectors: as fast as the memory, and hardly less exact.
static inline double dot(const float* p, const float* q, int n) {  // n a multiple of V
    double sum = 0;
    for (int i = 0; i < n;) {
        Floats run = {};
        for (const int end = smaller(i + 64 * V, n); i < end; i += V)
            run += load(p + i) * load(q + i);
        sum += total(run);
    }
    return sum;
}
