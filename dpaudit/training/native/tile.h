// How much of a matrix product is held in registers at once, decided when compiling.
#pragma once
#include "vector.h"

// TY x TX rows of the left side by NV vectors of the right.
struct Tile {
    int TY, TX, NV;
};

// Half cycles that one term of a tile's sums takes: two multiply-adds and two loads a cycle, and
// each sum waits four cycles for itself.
constexpr int term(int rows, int vectors) {
    return larger(larger(rows * vectors, rows + vectors), 8) + 1;
}
constexpr bool fits(int rows, int vectors) { return rows * vectors + vectors + 1 <= REGISTERS; }

// The fastest tile for H x W rows and `vectors` vectors. The last tile of a row or column is
// moved back to end with it, so tiles may overlap.
constexpr Tile best_tile(int H, int W, int vectors) {
    Tile best = {1, 1, 1};
    long least = -1;
    for (int nv = 1; nv <= 4; nv++) {
        if (vectors % nv) continue;
        for (int ty = 1; ty <= H && ty <= REGISTERS; ty++)
            for (int tx = 1; tx <= W && fits(ty * tx, nv); tx++) {
                long cost =
                    (long)ceil_div(H, ty) * ceil_div(W, tx) * (vectors / nv) * term(ty * tx, nv);
                if (least < 0 || cost < least) least = cost, best = {ty, tx, nv};
            }
    }
    return best;
}

// The fastest tile whose rows divide `rows`, a power of two: nothing overlaps.
constexpr Tile even_tile(int rows, int vectors) {
    Tile best = {1, 1, 1};
    long least = -1;
    for (int nv = 1; nv <= 4; nv++) {
        if (vectors % nv) continue;
        for (int r = 1; r <= rows && fits(r, nv); r *= 2) {
            long cost = (long)(rows / r) * (vectors / nv) * term(r, nv);
            if (least < 0 || cost < least) least = cost, best = {1, r, nv};
        }
    }
    return best;
}
