/*
 * A thin layer over qtsa_graph_op() and its like that lets a model read as its
 * formulas do: each function gives the tensor it added.
 *
 *     qtsa_tensor h = op(&b, "linear", TENSORS(x, weight(&b, "up.weight")), NO_ATTRS);
 *     qtsa_tensor y = op(&b, "leaky_relu", TENSORS(h), ATTRS(qtsa_attr_float("negative_slope", 0.3)));
 *
 * The first failure is kept in the builder's status and nothing is added after it,
 * so a model is built as if nothing could fail and checked once, at its end.
 */
#ifndef BUILDER_H
#define BUILDER_H

#include "qtsaccel.h"

typedef struct {
    qtsa_graph graph;
    qtsa_weights weights;
    qtsa_status status;
} builder;

/* Arrays written in place, each with its length: two arguments in one. */
#define TENSORS(...) (qtsa_tensor[]){__VA_ARGS__}, sizeof((qtsa_tensor[]){__VA_ARGS__}) / sizeof(qtsa_tensor)
#define ATTRS(...) (qtsa_attr[]){__VA_ARGS__}, sizeof((qtsa_attr[]){__VA_ARGS__}) / sizeof(qtsa_attr)
#define INTS(...) (int64_t[]){__VA_ARGS__}, (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#define NO_ATTRS NULL, 0

/* A dynamic dimension, as it stands in shapes and attributes. */
static inline int64_t dim(builder *b, const char *name, int64_t min, int64_t max) {
    int64_t d = 1;
    if (b->status == QTSA_OK) {
        b->status = qtsa_graph_dim(b->graph, name, min, max, &d);
    }
    return d;
}

static inline qtsa_tensor input(builder *b, const char *name, qtsa_dtype dtype, const int64_t *shape, int32_t rank) {
    qtsa_tensor t = QTSA_NONE;
    if (b->status == QTSA_OK) {
        b->status = qtsa_graph_input(b->graph, name, dtype, shape, rank, &t);
    }
    return t;
}

static inline qtsa_tensor weight(builder *b, const char *name) {
    qtsa_tensor t = QTSA_NONE;
    if (b->status == QTSA_OK) {
        b->status = qtsa_graph_weight(b->graph, b->weights, name, &t);
    }
    return t;
}

static inline qtsa_tensor state(builder *b, const char *name, qtsa_dtype dtype, const int64_t *shape, int32_t rank) {
    qtsa_tensor t = QTSA_NONE;
    if (b->status == QTSA_OK) {
        b->status = qtsa_graph_state(b->graph, name, dtype, shape, rank, &t);
    }
    return t;
}

/* An operator with several outputs. */
static inline void ops(builder *b, const char *name, const qtsa_tensor *inputs, size_t n_inputs, const qtsa_attr *attrs,
                       size_t n_attrs, qtsa_tensor *outputs, size_t n_outputs) {
    if (b->status == QTSA_OK) {
        b->status = qtsa_graph_op(b->graph, name, inputs, n_inputs, attrs, n_attrs, outputs, n_outputs);
    }
}

/* An operator with one output. */
static inline qtsa_tensor op(builder *b, const char *name, const qtsa_tensor *inputs, size_t n_inputs,
                             const qtsa_attr *attrs, size_t n_attrs) {
    qtsa_tensor t = QTSA_NONE;
    ops(b, name, inputs, n_inputs, attrs, n_attrs, &t, 1);
    return t;
}

static inline void output(builder *b, const char *name, qtsa_tensor tensor) {
    if (b->status == QTSA_OK) {
        b->status = qtsa_graph_output(b->graph, name, tensor);
    }
}

#endif /* BUILDER_H */
