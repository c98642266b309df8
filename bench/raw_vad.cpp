// Silero VAD as one kept ggml graph, in the form that was found to be fastest on
// the CPU: activations are [time, channels], channels innermost.
//
//  - A convolution over such rows is one product of the weights with an overlapping
//    view: k successive rows of c channels are one row of k*c, and the next begins
//    stride rows further on. Nothing is gathered. Zero padding is a row of zeros
//    that lies before or behind the activation's rows and is never written.
//  - Results are written straight to where the next operator wants them: between
//    those zero rows, into the LSTM's input row, into its state. Nothing is copied.
//  - With one input row (conv4) or two (conv3), the taps that meet only padding
//    are left out of the weights.
//  - The LSTM's two products are one, over the row [x, h]; its gates are reordered
//    from i, f, g, o to i, f, o, g, so that one sigmoid covers three.
#include <cstring>

#include "files.hpp"
#include "raw_ggml.hpp"
#include "vad_job.hpp"

namespace {

using bench::RawGraph;
using Floats = std::vector<float>;

constexpr size_t bins = 129, hidden = 128;
constexpr int frame = 256, hop = 128, frames = 4;
// Rows of the magnitude are padded to a multiple of 16 floats: with 3*129 columns
// the product is 1.5 times slower.
constexpr size_t bin_row = 144;

// The taps [first, last) of a weight [c_out, c_in, k] as [c_out, (last-first)*row],
// tap by tap, each tap's channels padded with zeros to row.
Floats taps_outside(const Floats &weight, size_t c_out, size_t c_in, size_t k, size_t first, size_t last, size_t row) {
    Floats out(c_out * (last - first) * row);
    for (size_t o = 0; o < c_out; o++) {
        for (size_t tap = first; tap < last; tap++) {
            for (size_t c = 0; c < c_in; c++) {
                out[(o * (last - first) + tap - first) * row + c] = weight[(o * c_in + c) * k + tap];
            }
        }
    }
    return out;
}

// The blocks i, f, g, o of a row or matrix in the order i, f, o, g.
Floats sigmoids_first(const Floats &gates) {
    const auto quarter = static_cast<std::ptrdiff_t>(gates.size() / 4);
    Floats out(gates);
    std::rotate(out.begin() + 2 * quarter, out.begin() + 3 * quarter, out.end());
    return out;
}

class RawVad : public bench::VadJob {
  public:
    RawVad() {
        const bench::Safetensors file(data("silero_vad_v6.2_16k_from_onnx.safetensors"));
        build(file);
        graph_.allocate();
        for (const auto &[tensor, values] : constants_) {
            std::memcpy(tensor->data, values.data(), values.size() * sizeof(float));
        }
    }

  protected:
    void reset() override {
        std::memset(cell_->data, 0, ggml_nbytes(cell_));
        std::memset(lstm_in_->data, 0, ggml_nbytes(lstm_in_));
    }

    float probability(const float *window) override {
        std::memcpy(window_->data, window, samples * sizeof(float));
        graph_.compute();
        return *static_cast<const float *>(probability_->data);
    }

  private:
    ggml_context *ctx() const { return graph_.ctx(); }

    ggml_tensor *constant(int64_t columns, Floats values) {
        const auto rows = static_cast<int64_t>(values.size()) / columns;
        ggml_tensor *t = ggml_new_tensor_2d(ctx(), GGML_TYPE_F32, columns, rows);
        constants_.emplace_back(t, std::move(values));
        return t;
    }

    // relu(rows · weightᵀ + bias), into target from row first_row on, or on its own.
    ggml_tensor *dense_relu(ggml_tensor *weight, ggml_tensor *rows, ggml_tensor *bias, ggml_tensor *target,
                            int first_row) {
        ggml_tensor *sum = ggml_add_inplace(ctx(), ggml_mul_mat(ctx(), weight, rows), bias);
        ggml_tensor *out = ggml_relu(ctx(), sum);
        bench::write_into(out, target, static_cast<size_t>(first_row) * target->nb[1]);
        graph_.expand(out);
        return out;
    }

    // count overlapping rows of columns floats, stride floats apart. ggml_view_2d
    // refuses a view with more elements than its source, so the shape is set here.
    ggml_tensor *overlapping(ggml_tensor *source, int64_t columns, int64_t count, int64_t stride) const {
        ggml_tensor *view = ggml_view_1d(ctx(), source, columns, 0);
        view->ne[1] = count;
        view->nb[1] = static_cast<size_t>(stride) * sizeof(float);
        view->nb[2] = view->nb[3] = static_cast<size_t>(count) * view->nb[1];
        return view;
    }

    // count overlapping windows of k rows each, stride rows apart.
    ggml_tensor *windows_of(ggml_tensor *rows, int64_t k, int64_t stride, int64_t count) const {
        return overlapping(rows, k * rows->ne[0], count, stride * rows->ne[0]);
    }

    ggml_tensor *part(ggml_tensor *row, size_t first, size_t count) const {
        return ggml_view_1d(ctx(), row, static_cast<int64_t>(count), first * sizeof(float));
    }

    void build(const bench::Safetensors &file) {
        const auto floats = [&](const char *name) { return file.floats(name); };
        const auto bias = [&](const char *name) {
            Floats values = floats(name);
            return constant(static_cast<int64_t>(values.size()), values);
        };
        const auto rows = [&](int64_t columns, int64_t n) {
            return ggml_new_tensor_2d(ctx(), GGML_TYPE_F32, columns, n);
        };

        // The window, mirrored at its end; then |STFT|.
        window_ = ggml_new_tensor_1d(ctx(), GGML_TYPE_F32, samples);
        ggml_tensor *padded = ggml_pad_reflect_1d(ctx(), window_, 0, 64);
        ggml_tensor *cut = overlapping(padded, frame, frames, hop);
        ggml_tensor *spectrum = ggml_mul_mat(ctx(), constant(frame, floats("stft_conv.weight")), cut);
        ggml_tensor *squares = ggml_sqr_inplace(ctx(), spectrum);
        ggml_tensor *re = ggml_view_2d(ctx(), squares, bins, frames, squares->nb[1], 0);
        ggml_tensor *im = ggml_view_2d(ctx(), squares, bins, frames, squares->nb[1], bins * sizeof(float));
        ggml_tensor *magnitudes = rows(bin_row, 1 + frames + 1);
        ggml_tensor *magnitude = ggml_sqrt(ctx(), ggml_add(ctx(), re, im));
        bench::write_into(magnitude, magnitudes, magnitudes->nb[1]);
        magnitude->nb[1] = magnitudes->nb[1];
        graph_.expand(magnitude);

        // Four convolutions of three taps, padding 1, strides 1, 2, 2, 1.
        ggml_tensor *out1 = rows(128, 1 + frames);
        ggml_tensor *weight1 = constant(3 * bin_row, taps_outside(floats("conv1.weight"), 128, bins, 3, 0, 3, bin_row));
        dense_relu(weight1, windows_of(magnitudes, 3, 1, 4), bias("conv1.bias"), out1, 1);

        ggml_tensor *out2 = rows(64, 2);
        ggml_tensor *weight2 = constant(3 * 128, taps_outside(floats("conv2.weight"), 64, 128, 3, 0, 3, 128));
        dense_relu(weight2, windows_of(out1, 3, 2, 2), bias("conv2.bias"), out2, 0);

        ggml_tensor *out3 = rows(64, 1);
        ggml_tensor *weight3 = constant(2 * 64, taps_outside(floats("conv3.weight"), 64, 64, 3, 1, 3, 64));
        dense_relu(weight3, windows_of(out2, 2, 2, 1), bias("conv3.bias"), out3, 0);

        lstm_in_ = rows(2 * hidden, 1);  // [x, h]
        ggml_tensor *weight4 = constant(64, taps_outside(floats("conv4.weight"), 128, 64, 3, 1, 2, 64));
        dense_relu(weight4, out3, bias("conv4.bias"), lstm_in_, 0);

        // The LSTM cell: c = f*c + i*g, h = o*tanh(c).
        const Floats w_ih = floats("lstm_cell.weight_ih"), w_hh = floats("lstm_cell.weight_hh");
        Floats both;
        for (size_t row = 0; row < 4 * hidden; row++) {
            for (const Floats *w : {&w_ih, &w_hh}) {
                const auto begin = w->begin() + static_cast<std::ptrdiff_t>(row * hidden);
                both.insert(both.end(), begin, begin + hidden);
            }
        }
        Floats biases = floats("lstm_cell.bias_ih");
        const Floats bias_hh = floats("lstm_cell.bias_hh");
        std::transform(biases.begin(), biases.end(), bias_hh.begin(), biases.begin(), std::plus<>());

        cell_ = ggml_new_tensor_1d(ctx(), GGML_TYPE_F32, hidden);
        ggml_tensor *product = ggml_mul_mat(ctx(), constant(2 * hidden, sigmoids_first(both)), lstm_in_);
        ggml_tensor *gates = ggml_add_inplace(ctx(), product, constant(4 * hidden, sigmoids_first(biases)));
        ggml_tensor *ifo = ggml_sigmoid_inplace(ctx(), part(gates, 0, 3 * hidden));
        ggml_tensor *g = ggml_tanh_inplace(ctx(), part(gates, 3 * hidden, hidden));
        ggml_tensor *kept = ggml_mul_inplace(ctx(), cell_, part(ifo, hidden, hidden));
        ggml_tensor *c = ggml_add_inplace(ctx(), kept, ggml_mul(ctx(), part(ifo, 0, hidden), g));
        ggml_tensor *h = ggml_mul(ctx(), part(ifo, 2 * hidden, hidden), ggml_tanh(ctx(), c));
        bench::write_into(h, lstm_in_, hidden * sizeof(float));
        graph_.expand(h);

        ggml_tensor *logit = ggml_mul_mat(ctx(), constant(hidden, floats("final_conv.weight")), ggml_relu(ctx(), h));
        probability_ = ggml_sigmoid(ctx(), ggml_add(ctx(), logit, bias("final_conv.bias")));
        graph_.expand(probability_);
    }

    RawGraph graph_;
    std::vector<std::pair<ggml_tensor *, Floats>> constants_;
    ggml_tensor *window_ = nullptr, *lstm_in_ = nullptr, *cell_ = nullptr, *probability_ = nullptr;
};

const bench::Entry entry("raw ggml", [] { return std::make_unique<RawVad>(); });

}  // namespace
