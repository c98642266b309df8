/*
 * Models in parts, and files written: split GGUF, safetensors with an index, bytes that
 * come out as they went in, names that are mapped on the way.
 *
 * usage: weights_parts FOLDER   which may be written to
 */
#define _POSIX_C_SOURCE 200809L

#include <unistd.h>

#include "check.h"

static const char *folder;

static const char *path_of(const char *name) {
    static char paths[4][1024];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *content, size_t n) {
    FILE *f = fopen(path_of(name), "wb");
    CHECK(f != NULL && fwrite(content, 1, n, f) == n && fclose(f) == 0);
}

static size_t read_file(const char *name, char *content, size_t room) {
    FILE *f = fopen(path_of(name), "rb");
    size_t n;
    CHECK(f != NULL);
    n = fread(content, 1, room, f);
    CHECK(n < room && fclose(f) == 0);
    return n;
}

/* Part number of so many parts, with one tensor "t<number>" of four floats. */
static void part(const char *name, int number, int parts, int tensors) {
    const int64_t shape[] = {4};
    qtsa_attr metadata[4];
    qtsa_weights w;
    float values[4];
    char tensor[8];
    int i;
    for (i = 0; i < 4; i++) values[i] = (float)(10 * number + i);
    snprintf(tensor, sizeof tensor, "t%d", number);
    metadata[0] = qtsa_attr_int("split.no", number);
    metadata[1] = qtsa_attr_int("split.count", parts);
    metadata[2] = qtsa_attr_int("split.tensors.count", tensors);
    metadata[3] = qtsa_attr_string("general.name", "in parts");
    OK(qtsa_weights_create(&w));
    OK(add_declared(w, tensor, QTSA_DTYPE_F32, shape, 1));
    OK(set_dense(w, tensor, values, sizeof values));
    OK(qtsa_weights_save(w, path_of(name), metadata, number == 0 ? 4 : 3, NULL, NULL));
    OK(qtsa_weights_free(w));
}

/* Whether the tensor is four floats from first on, as a graph reads it. */
static void holds(qtsa_weights w, const char *name, float first) {
    const int64_t shape[] = {4};
    const float zeros[4] = {0, 0, 0, 0};
    float y[4];
    qtsa_backend b;
    qtsa_session s;
    qtsa_graph g;
    qtsa_plan p;
    qtsa_tensor in[2], sum;
    qtsa_input input;
    qtsa_output output;
    int i;
    input.data = zeros;
    input.bytes = sizeof zeros;
    output.data = y;
    output.bytes = sizeof y;
    OK(qtsa_backend_create(NULL, &b));
    OK(qtsa_session_create(b, &s));
    OK(qtsa_graph_create("sum", &g));
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, shape, 1, &in[0]));
    OK(qtsa_graph_weight(g, w, name, &in[1]));
    OK(qtsa_graph_op(g, "add", in, 2, NULL, 0, &sum, 1));
    OK(qtsa_graph_output(g, "y", sum));
    OK(qtsa_plan_create(s, g, NULL, &p));
    OK(qtsa_plan_run(p, &input, 1, &output, 1, NULL));
    for (i = 0; i < 4; i++) CHECK(y[i] == first + (float)i);
    OK(qtsa_plan_free(p));
    OK(qtsa_graph_free(g));
    OK(qtsa_session_free(s));
    OK(qtsa_backend_free(b));
}

static void split_gguf(void) {
    const char *names[] = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"};
    qtsa_weights_rule rule = {sizeof rule, "t*", "blk.*.w", 0, 0};
    qtsa_weights_options o;
    qtsa_weights w;
    size_t n, keys, i;
    char name[16], text[32];
    for (i = 0; i < 3; i++) part(names[i], (int)i, 3, 3);
    o = qtsa_weights_options_init();
    o.rules = &rule;
    o.n_rules = 1;
    OK(qtsa_weights_open(path_of(names[0]), &o, &w));
    OK(qtsa_weights_count(w, &n, &keys));
    CHECK(n == 3);
    for (i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "blk.%d.w", (int)i);
        holds(w, name, 10 * (float)i);
    }
    OK(qtsa_weights_metadata_copy(w, "general.name", 0, text, sizeof text, &n));
    CHECK(strcmp(text, "in parts") == 0);
    OK(qtsa_weights_save(w, path_of("whole.gguf"), NULL, 0, NULL, NULL));
    OK(qtsa_weights_free(w));
    OK(qtsa_weights_open(path_of("whole.gguf"), NULL, &w));
    holds(w, "blk.2.w", 20);
    OK(qtsa_weights_free(w));

    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_open(path_of(names[1]), NULL, &w), names[1], "first");
    part(names[2], 1, 3, 3);
    REFUSED(QTSA_ERR_CORRUPT, qtsa_weights_open(path_of(names[0]), NULL, &w), names[2], "split.no");
    part(names[2], 2, 3, 3);
    part(names[0], 0, 3, 4);
    REFUSED(QTSA_ERR_CORRUPT, qtsa_weights_open(path_of(names[0]), NULL, &w), "4", "3");
    part(names[0], 0, 3, 3);
    CHECK(unlink(path_of(names[2])) == 0);
    REFUSED(QTSA_ERR_IO, qtsa_weights_open(path_of(names[0]), NULL, &w), names[2], "no such file");
    CHECK(w == NULL);
}

/* A safetensors file with one tensor of four floats. */
static void shard(const char *name, const char *tensor, float first) {
    char content[256];
    float values[4];
    uint64_t length;
    int i;
    for (i = 0; i < 4; i++) values[i] = first + (float)i;
    length = (uint64_t)snprintf(content + 8, sizeof content - 8,
                                "{\"%s\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", tensor);
    memcpy(content, &length, 8);
    memcpy(content + 8 + length, values, 16);
    write_file(name, content, 24 + (size_t)length);
}

static void sharded_safetensors(void) {
    const char *const index =
        "{\"metadata\":{\"total_size\":32},\"weight_map\":{\"a\":\"one.safetensors\",\"b\":\"two.safetensors\"}}";
    const char *const wrong = "{\"weight_map\":{\"a\":\"one.safetensors\",\"c\":\"two.safetensors\"}}";
    const char *name = "model.safetensors.index.json";
    qtsa_weights w;
    size_t n, keys;
    shard("one.safetensors", "a", 1);
    shard("two.safetensors", "b", 7);
    write_file(name, index, strlen(index));
    OK(qtsa_weights_open(path_of(name), NULL, &w));
    OK(qtsa_weights_count(w, &n, &keys));
    CHECK(n == 2);
    holds(w, "a", 1);
    holds(w, "b", 7);
    OK(qtsa_weights_free(w));
    write_file(name, wrong, strlen(wrong));
    REFUSED(QTSA_ERR_CORRUPT, qtsa_weights_open(path_of(name), NULL, &w), "\"b\"", "two.safetensors",
            "not in the index");
    write_file(name, index, strlen(index));
    CHECK(unlink(path_of("two.safetensors")) == 0);
    REFUSED(QTSA_ERR_IO, qtsa_weights_open(path_of(name), NULL, &w), "two.safetensors", "no such file");
    write_file(name, index, strlen(index) - 5);
    REFUSED(QTSA_ERR_CORRUPT, qtsa_weights_open(path_of(name), NULL, &w), "at byte ");
}

/* What is read and not converted is written as the same bytes, from memory or mapped. */
static void byte_for_byte(void) {
    static char was[1 << 12], is[1 << 12];
    const int32_t placements[] = {QTSA_PLACEMENT_COPIED, QTSA_PLACEMENT_MAPPED};
    const size_t n = read_file("whole.gguf", was, sizeof was);
    qtsa_weights_options o;
    qtsa_weights w;
    int i;
    o = qtsa_weights_options_init();
    for (i = 0; i < 2; i++) {
        o.placement = placements[i];
        OK(qtsa_weights_open(path_of("whole.gguf"), &o, &w));
        OK(qtsa_weights_save(w, path_of("again.gguf"), NULL, 0, NULL, NULL));
        OK(qtsa_weights_free(w));
        CHECK(read_file("again.gguf", is, sizeof is) == n && memcmp(was, is, n) == 0);
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    folder = argv[1];
    split_gguf();
    sharded_safetensors();
    byte_for_byte();
    return 0;
}
