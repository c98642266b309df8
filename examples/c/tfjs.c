#include "tfjs.h"

#include <cjson/cJSON.h>
#include <stdint.h>

#include "example.h"

/* Text or bytes read from files; data ends with a zero byte that size does not count. */
typedef struct {
    char *data;
    size_t size;
} bytes;

/* Appends a file of the folder. */
static void read_file(const char *folder, const char *name, bytes *to) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) {
        fail("the path of the model is too long");
    }
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail("cannot open the model's %s: %s", path, strerror(errno));
    }
    enum { STEP = 1 << 16 };
    size_t n;
    do {
        to->data = realloc(to->data, to->size + STEP + 1);
        if (to->data == NULL) {
            fail("out of memory while reading %s", path);
        }
        n = fread(to->data + to->size, 1, STEP, file);
        to->size += n;
        to->data[to->size] = '\0';
    } while (n > 0);
    if (ferror(file)) {
        fail("cannot read %s: %s", path, strerror(errno));
    }
    fclose(file);
}

/* [height, width, in, out] to [out, in, height, width] */
static float *transpose(const float *kernel, const int64_t shape[4]) {
    const int64_t height = shape[0], width = shape[1], in = shape[2], out = shape[3];
    float *to = allocate((size_t)(height * width * in * out) * sizeof *to), *next = to;
    for (int64_t o = 0; o < out; o++) {
        for (int64_t i = 0; i < in; i++) {
            for (int64_t at = 0; at < height * width; at++) {
                *next++ = kernel[(at * in + i) * out + o];
            }
        }
    }
    return to;
}

/* Adds one tensor of the manifest, whose data begins at *offset, and moves on. */
static void add_tensor(qtsa_weights weights, const char *folder, const cJSON *entry, const bytes *data,
                       size_t *offset) {
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "name"));
    const char *dtype = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "dtype"));
    const cJSON *dims = cJSON_GetObjectItem(entry, "shape"), *dim;
    int64_t shape[QTSA_MAX_RANK];
    int32_t rank = 0;
    size_t size;
    if (name == NULL || dtype == NULL || strcmp(dtype, "float32") != 0 || cJSON_GetArraySize(dims) > QTSA_MAX_RANK) {
        fail("%s/model.json: a tensor without name, that is not float32, or with too many dimensions", folder);
    }
    cJSON_ArrayForEach(dim, dims) { shape[rank++] = cJSON_IsNumber(dim) ? dim->valueint : -1; }
    CHECK(qtsa_tensor_bytes(QTSA_DTYPE_F32, shape, rank, &size));
    if (size > data->size - *offset) {
        fail("%s: the data ends before %s", folder, name);
    }
    float *values = allocate(size), *kernel = NULL;
    memcpy(values, data->data + *offset, size);
    *offset += size;

    if (rank == 4) {
        kernel = transpose(values, shape);
        memcpy(shape, (const int64_t[]){shape[3], shape[2], shape[0], shape[1]}, sizeof shape);
    }
    const qtsa_array array = qtsa_array_dense(QTSA_DTYPE_F32, shape, rank, kernel == NULL ? values : kernel, size);
    CHECK(qtsa_weights_add(weights, name, &array));
    free(kernel);
    free(values);
}

qtsa_weights tfjs_open(const char *folder) {
    bytes text = {0};
    read_file(folder, "model.json", &text);
    cJSON *model = cJSON_ParseWithLength(text.data, text.size);
    const cJSON *manifest = cJSON_GetObjectItem(model, "weightsManifest"), *group, *path, *entry;
    if (!cJSON_IsArray(manifest)) {
        fail("%s/model.json is no model of TensorFlow.js: it has no weightsManifest", folder);
    }
    qtsa_weights weights;
    CHECK(qtsa_weights_create(&weights));
    cJSON_ArrayForEach(group, manifest) {
        bytes data = {0};
        size_t offset = 0;
        cJSON_ArrayForEach(path, cJSON_GetObjectItem(group, "paths")) {
            read_file(folder, cJSON_IsString(path) ? path->valuestring : "", &data);
        }
        cJSON_ArrayForEach(entry, cJSON_GetObjectItem(group, "weights")) {
            add_tensor(weights, folder, entry, &data, &offset);
        }
        if (offset != data.size) {
            fail("%s: %zu bytes of data, and tensors for %zu", folder, data.size, offset);
        }
        free(data.data);
    }
    cJSON_Delete(model);
    free(text.data);
    return weights;
}
