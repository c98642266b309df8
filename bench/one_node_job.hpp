// The smallest job: a graph of one node, run over and over on the same input.
#pragma once

#include <array>
#include <cstddef>

#include "contest.hpp"

namespace bench {

// Either of two nodes over a row of 64 floats: a sum of two rows, or a product with
// a 64x64 matrix. A run uploads its inputs and downloads its output.
class OneNodeJob : public Contestant {
  public:
    static constexpr size_t width = 64;
    using Row = std::array<float, width>;
    enum class Node { add, linear };

    explicit OneNodeJob(Node node);

    long units() const override { return runs; }
    void round() override;
    double check() override;

  protected:
    // a + b, or weight() · a.
    virtual void run(const Row &a, const Row &b, Row &out) = 0;

    Node node() const { return node_; }
    // [width, width], row-major, outputs outermost.
    const std::array<Row, width> &weight() const { return weight_; }

  private:
    static constexpr long runs = 5000;

    Node node_;
    std::array<Row, width> weight_;
    Row a_, b_, out_{};
};

}  // namespace bench
