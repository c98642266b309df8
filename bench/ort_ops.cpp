// Single operators on ONNX Runtime's CPU provider, each a model of its own that is made
// here with the editor of its C API, the weight an initializer, so that it is put into
// the kernel's form once:
//
//   - products in f32, f16 and bf16 as MatMul with the weight [n_in, n_out] in its type,
//     the input cast to it; where the provider has no kernel for the type, it casts;
//   - products with q8_0 and q4_0 as MatMulNBits with blocks of 32, the same levels and
//     scales, and the input quantised to 8 bits, as ggml does;
//   - the convolution as Conv, which has the channels first;
//   - attention as MultiHeadAttention.
#include <array>
#include <cstring>

#include "ops_weight.hpp"
#include "ort.hpp"

namespace {

using bench::must;
using bench::Operation;
using bench::ort;

using Names = std::vector<const char *>;
using Shape = std::vector<int64_t>;

constexpr auto f32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;

// A model in the making.
class Model {
  public:
    Model() {
        must(ort()->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory_));
        must(editor()->CreateGraph(&graph_));
    }
    ~Model() { ort()->ReleaseMemoryInfo(memory_); }
    Model(const Model &) = delete;
    Model &operator=(const Model &) = delete;

    // A tensor whose data stays the caller's.
    OrtValue *tensor(const void *data, size_t bytes, const Shape &shape, ONNXTensorElementDataType type) {
        OrtValue *value;
        must(ort()->CreateTensorWithDataAsOrtValue(memory_, const_cast<void *>(data), bytes, shape.data(), shape.size(),
                                                   type, &value));
        return value;
    }

    void weight(const char *name, const void *data, size_t bytes, const Shape &shape, ONNXTensorElementDataType type) {
        must(editor()->AddInitializerToGraph(graph_, name, tensor(data, bytes, shape, type), true));
    }

    void node(const char *op, const char *domain, const Names &in, const char *out,
              std::vector<OrtOpAttr *> attrs = {}) {
        OrtNode *made;
        must(editor()->CreateNode(op, domain, out, in.data(), in.size(), &out, 1, attrs.data(), attrs.size(), &made));
        must(editor()->AddNodeToGraph(graph_, made));
        for (OrtOpAttr *a : attrs) ort()->ReleaseOpAttr(a);
    }

    static OrtOpAttr *attr(const char *name, int64_t value) {
        OrtOpAttr *made;
        must(ort()->CreateOpAttr(name, &value, 1, ORT_OP_ATTR_INT, &made));
        return made;
    }

    static OrtOpAttr *attr(const char *name, const Shape &values) {
        OrtOpAttr *made;
        must(ort()->CreateOpAttr(name, values.data(), static_cast<int>(values.size()), ORT_OP_ATTR_INTS, &made));
        return made;
    }

    // Makes the session from f32 inputs to the f32 output "y". The weights' data must
    // stay as long as it does.
    OrtSession *session(const std::vector<std::pair<const char *, Shape>> &in, const Shape &out) {
        std::vector<OrtValueInfo *> inputs;
        for (const auto &[name, shape] : in) inputs.push_back(info(name, shape));
        OrtValueInfo *output = info("y", out);
        must(editor()->SetGraphInputs(graph_, inputs.data(), inputs.size()));
        must(editor()->SetGraphOutputs(graph_, &output, 1));

        static const char *const domains[] = {"", "com.microsoft"};
        static const int versions[] = {21, 1};
        OrtModel *model;
        must(editor()->CreateModel(domains, versions, 2, &model));
        must(editor()->AddGraphToModel(model, graph_));
        OrtSessionOptions *options = bench::ort_options();
        OrtSession *made = nullptr;
        OrtStatus *status = editor()->CreateSessionFromModel(bench::ort_environment(), model, options, &made);
        ort()->ReleaseSessionOptions(options);
        ort()->ReleaseModel(model);
        if (status != nullptr) {
            const std::string reason = ort()->GetErrorMessage(status);
            ort()->ReleaseStatus(status);
            throw bench::CannotDo(reason);
        }
        return made;
    }

  private:
    static const OrtModelEditorApi *editor() { return ort()->GetModelEditorApi(); }

    static OrtValueInfo *info(const char *name, const Shape &shape) {
        OrtTensorTypeAndShapeInfo *sizes;
        OrtTypeInfo *type;
        OrtValueInfo *made;
        must(ort()->CreateTensorTypeAndShapeInfo(&sizes));
        must(ort()->SetTensorElementType(sizes, f32));
        must(ort()->SetDimensions(sizes, shape.data(), shape.size()));
        must(editor()->CreateTensorTypeInfo(sizes, &type));
        ort()->ReleaseTensorTypeAndShapeInfo(sizes);
        must(editor()->CreateValueInfo(name, type, &made));
        ort()->ReleaseTypeInfo(type);
        return made;
    }

    OrtMemoryInfo *memory_ = nullptr;
    OrtGraph *graph_ = nullptr;
};

class OrtOp : public bench::OpsJob {
  public:
    explicit OrtOp(const bench::OpsCase &c) : OpsJob(c, c.operation == Operation::convolution) {
        switch (c.operation) {
            case Operation::product:
                in_ = {{"x", {c.rows, c.n_in}}};
                out_ = {c.rows, c.n_out};
                c.dtype[0] == 'q' ? blocks() : product();
                break;
            case Operation::convolution: {
                constexpr auto side = bench::conv_side, channels = bench::conv_channels;
                const Shape image = {1, channels, side, side};
                values_ = channels_first_weight();
                model_.weight("w", values_.data(), values_.size() * sizeof(float), {channels, channels, 3, 3}, f32);
                model_.node("Conv", "", {"x", "w"}, "y",
                            {Model::attr("kernel_shape", Shape{3, 3}), Model::attr("pads", Shape{1, 1, 1, 1})});
                in_ = {{"x", image}};
                out_ = image;
                break;
            }
            case Operation::attention:
                out_ = {1, bench::att_rows, bench::att_heads * bench::att_dim};
                in_ = {{"q", out_}, {"k", out_}, {"v", out_}};
                model_.node("MultiHeadAttention", "com.microsoft", {"q", "k", "v"}, "y",
                            {Model::attr("num_heads", bench::att_heads)});
                break;
        }
        session_ = model_.session(in_, out_);
    }

    ~OrtOp() override {
        release();
        ort()->ReleaseSession(session_);
    }

  protected:
    void run(const float *x, float *y) override {
        if (x != x_ || y != y_) bind(x, y);
        static const char *const output = "y";
        must(ort()->Run(session_, nullptr, names_.data(), inputs_.data(), inputs_.size(), &output, 1, &output_));
    }

  private:
    // The weight as [n_in, n_out], in its type.
    void product() {
        const auto n_in = static_cast<size_t>(what().n_in), n_out = static_cast<size_t>(what().n_out);
        const std::string dtype = what().dtype;
        const std::vector<char> rows = bench::packed(what(), weight());
        const size_t width = rows.size() / n_in / n_out;
        bytes_.resize(rows.size());
        for (size_t i = 0; i < n_in * n_out; i++) {
            std::memcpy(&bytes_[(i % n_in * n_out + i / n_in) * width], &rows[i * width], width);
        }
        const auto type = dtype == "f16"    ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16
                          : dtype == "bf16" ? ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16
                                            : f32;
        model_.weight("w", bytes_.data(), bytes_.size(), {what().n_in, what().n_out}, type);
        if (type == f32) {
            model_.node("MatMul", "", {"x", "w"}, "y");
            return;
        }
        model_.node("Cast", "", {"x"}, "narrow", {Model::attr("to", static_cast<int64_t>(type))});
        model_.node("MatMul", "", {"narrow", "w"}, "product");
        model_.node("Cast", "", {"product"}, "y", {Model::attr("to", static_cast<int64_t>(f32))});
    }

    // The levels, unsigned, in rows [n_out, n_in]; two of 4 bits in a byte, the first low.
    void blocks() {
        constexpr size_t block = 32;
        const bool bytes = std::string(what().dtype) == "q8_0";
        const size_t size = bytes ? 34 : 18, levels = size - 2;
        const std::vector<char> packed = bench::packed(what(), weight());
        for (size_t at = 0; at < packed.size(); at += size) {
            ggml_fp16_t scale;
            std::memcpy(&scale, &packed[at], sizeof scale);
            values_.push_back(ggml_fp16_to_fp32(scale));
            const char *level = &packed[at + 2];
            for (size_t i = 0; i < levels; i++) {
                if (bytes) {
                    bytes_.push_back(static_cast<char>(level[i] + 128));
                    continue;
                }
                // ggml has levels k and k + 16 in byte k.
                const auto nibble = [level](size_t k) {
                    return (static_cast<uint8_t>(level[k % 16]) >> k / 16 * 4) & 15;
                };
                bytes_.push_back(static_cast<char>(nibble(2 * i) | nibble(2 * i + 1) << 4));
            }
        }
        const int64_t n_in = what().n_in, n_out = what().n_out, in_row = n_in / static_cast<int64_t>(block);
        model_.weight("w", bytes_.data(), bytes_.size(), {n_out, in_row, static_cast<int64_t>(levels)},
                      ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8);
        model_.weight("scales", values_.data(), values_.size() * sizeof(float), {n_out, in_row}, f32);
        constexpr int64_t input_in_8_bits = 4;
        model_.node(
            "MatMulNBits", "com.microsoft", {"x", "w", "scales"}, "y",
            {Model::attr("K", n_in), Model::attr("N", n_out), Model::attr("bits", bytes ? 8 : 4),
             Model::attr("block_size", static_cast<int64_t>(block)), Model::attr("accuracy_level", input_in_8_bits)});
    }

    void bind(const float *x, float *y) {
        release();
        const auto elements = [](const Shape &shape) {
            size_t n = 1;
            for (const int64_t d : shape) n *= static_cast<size_t>(d);
            return n;
        };
        x_ = x;
        y_ = y;
        output_ = model_.tensor(y, elements(out_) * sizeof(float), out_, f32);
        for (const auto &[name, shape] : in_) {
            names_.push_back(name);
            inputs_.push_back(model_.tensor(x, elements(shape) * sizeof(float), shape, f32));
            x += elements(shape);
        }
    }

    void release() {
        for (const OrtValue *v : inputs_) ort()->ReleaseValue(const_cast<OrtValue *>(v));
        if (output_ != nullptr) ort()->ReleaseValue(output_);
        inputs_.clear();
        names_.clear();
        output_ = nullptr;
    }

    Model model_;
    OrtSession *session_ = nullptr;
    std::vector<std::pair<const char *, Shape>> in_;
    Shape out_;
    std::vector<char> bytes_;
    std::vector<float> values_;

    // What the last run was from and to.
    const float *x_ = nullptr;
    float *y_ = nullptr;
    Names names_;
    std::vector<const OrtValue *> inputs_;
    OrtValue *output_ = nullptr;
};

const auto entries = [] {
    std::vector<bench::Entry> list;
    for (const bench::OpsCase &c : bench::ops_cases) {
        list.emplace_back(std::string("ONNX Runtime ") + c.name, [&c] { return std::make_unique<OrtOp>(c); });
    }
    return list;
}();

}  // namespace
