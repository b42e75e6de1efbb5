// Logarithm, square root, sine and cosine of vectors, to about one part in ten million.
#pragma once
#include <cmath>

#include "vector.h"

// log(u) for normal u > 0: the exponent, and the series of Cephes' logf for the rest.
static inline Floats logarithm(Floats u) {
    Ints bits;
    memcpy(&bits, &u, sizeof u);
    Ints exponent = (bits >> 23) - 126;
    Ints fraction = (bits & 0x007fffff) | 0x3f000000;
    Floats m;
    memcpy(&m, &fraction, sizeof m);  // in [1/2, 1)
    Ints low = m < 0.70710678f;
    m = low ? m + m - 1 : m - 1;
    Floats e = __builtin_convertvector(exponent + low, Floats);  // `low` is -1 where true
    Floats p = splat(7.0376836292e-2f);
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    Floats square = m * m;
    return m + (p * m * square - 0.5f * square - e * 2.12194440e-4f) + e * 0.693359375f;
}

static inline Floats root(Floats x) {
    Floats r;
    EACH (i, V) r[i] = std::sqrt(x[i] > 0 ? x[i] : 0);
    return r;
}

// sin and cos of 2 pi x for |x| <= 1/2: by quarter turns, then the series of Cephes' sinf.
static inline void turn(Floats x, Floats& sine, Floats& cosine) {
    Ints quarter = __builtin_convertvector(x * 4 + (x < 0 ? splat(-0.5f) : splat(0.5f)), Ints);
    Floats a = (x - __builtin_convertvector(quarter, Floats) * 0.25f) * 6.2831853071795865f;
    Floats z = a * a;
    Floats s = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * a + a;
    Floats c =
        ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z -
        0.5f * z + 1;
    Ints odd = (quarter & 1) != 0, sine_sign = (quarter & 2) != 0,
         cosine_sign = ((quarter + 1) & 2) != 0;
    sine = odd ? c : s;
    cosine = odd ? s : c;
    sine = sine_sign ? -sine : sine;
    cosine = cosine_sign ? -cosine : cosine;
}
