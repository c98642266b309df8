/* The cell of an LSTM. */
#include "kernel.h"

#include <algorithm>

#include "lanes.h"

namespace kernels {

namespace {

/* A lane of LSTM units: the sums of their gates i, f, g, o and their cells. */
struct lstm_lane {
    float gate[4][lane], cell[lane], hidden[lane];

    void add(const float (&summand)[4][lane]) {
        for (int g = 0; g < 4; g++) {
            for (int64_t j = 0; j < lane; j++) gate[g][j] += summand[g][j];
        }
    }
    FOR_EVERY_X86 void step();
};

void lstm_lane::step() {
    for (int64_t j = 0; j < lane; j++) {
        cell[j] = sigmoid(gate[1][j]) * cell[j] + sigmoid(gate[0][j]) * hyperbolic_tangent(gate[2][j]);
    }
    for (int64_t j = 0; j < lane; j++) hidden[j] = sigmoid(gate[3][j]) * hyperbolic_tangent(cell[j]);
}

/*
 * The two products [n, 4 hidden], c [n, hidden], then biases [4 hidden], if any; h' and c',
 * one behind the other.
 */
void run_lstm(const call *c, int32_t ith, int32_t nth) {
    const tensor *cell = &c->in[2];
    const int64_t hidden = cell->ne[0], n = cell->ne[1];
    // Whole lanes for each thread, the last one maybe in part.
    const part groups((hidden + lane - 1) / lane, ith, nth);
    const int summands[] = {0, 1, 3, 4};
    for (int64_t row = 0; row < n; row++) {
        const float *c_last = static_cast<const float *>(cell->data) + row * hidden;
        float *h_next = static_cast<float *>(c->out.data) + row * hidden, *c_next = h_next + n * hidden;
        for (int64_t i = groups.begin * lane; i < std::min(groups.end * lane, hidden); i += lane) {
            const size_t bytes = std::min<int64_t>(lane, hidden - i) * sizeof(float);
            lstm_lane x = {};
            std::memcpy(x.cell, c_last + i, bytes);
            for (const int k : summands) {
                if (k >= c->inputs) continue;
                // The biases are the same for every row.
                const float *from = static_cast<const float *>(c->in[k].data) + (k < 2 ? row * 4 * hidden : 0);
                float summand[4][lane] = {};
                for (int g = 0; g < 4; g++) std::memcpy(summand[g], from + g * hidden + i, bytes);
                x.add(summand);
            }
            x.step();
            std::memcpy(c_next + i, x.cell, bytes);
            std::memcpy(h_next + i, x.hidden, bytes);
        }
    }
}

const kernel entry("lstm", run_lstm);

}  // namespace

}  // namespace kernels
