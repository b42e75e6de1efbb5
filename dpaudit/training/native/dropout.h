// Which values dropout keeps: drawn for each record by its own key, or given.
#pragma once
#include "random.h"

constexpr int BATCH = 32;  // records that are carried through the network together

// A value is kept where its number of 16 bits is not below p 2^16, and then divided by the chance
// of that; where masks are given, by 1 - p itself.
struct Dropout {
    int32_t threshold;
    float scale;

    explicit Dropout(double p = 0, bool given = false) : threshold((int32_t)(p * 65536 + 0.5)) {
        // Given masks are numbers 0 and 65535: the first is always dropped, the second never.
        if (p > 0 && threshold < 1) threshold = 1;
        if (threshold > 65535) threshold = 65535;
        scale = (float)(given ? 1 / (1 - p) : 65536.0 / (65536 - threshold));
    }
};

// The dropout of one micro-batch: for record s its stream is (seed, step[s], record[s]).
struct Draws {
    const Dropout* layers;
    uint64_t seed = 0;
    Purpose purpose = DROPOUT;
    uint32_t step[BATCH] = {};
    int64_t record[BATCH] = {};
    const uint16_t* const* given = nullptr;  // by layer: the numbers of record 0 of the data

    // `count` numbers for one layer and record, in `room` (which has 2 DRAWN more) or where given.
    const uint16_t* of(int layer, int s, int count, uint16_t* room) const {
        if (given) return given[layer] + record[s] * count;
        if (layers[layer].threshold > 0)
            draw_halves(Key(seed, step[s], purpose, layer), record[s], count, room);
        return room;
    }
};
