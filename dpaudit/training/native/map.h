// How the values of one record lie in memory: pixel by pixel, a pixel's channels side by side.
#pragma once
#include "vector.h"

// C channels of H x W pixels, with a border of zeros of PY and PX for the convolution that reads
// them. A pixel takes CS floats, by default whole vectors; those behind its channels are zero.
// A row of features is a map of 1 x 1 pixels.
template <int C_, int H_, int W_, int PY_ = 0, int PX_ = 0, int CS_ = round_up(C_, V)>
struct Map {
    static constexpr int C = C_, H = H_, W = W_, PY = PY_, PX = PX_, CS = CS_;
    static constexpr int ROW = (W + 2 * PX) * CS;
    static constexpr int SIZE = (H + 2 * PY) * ROW;
    // From one record to the next. The vector behind the last value may be read, never used.
    static constexpr int STEP = round_up(SIZE + V, V);

    static constexpr int at(int y, int x) { return (y + PY) * ROW + (x + PX) * CS; }

    // Where torch's value number j lies: torch counts channels, rows, columns.
    static constexpr int slot(int j) { return at(j / W % H, j % W) + j / (W * H); }
};
