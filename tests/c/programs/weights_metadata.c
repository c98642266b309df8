/*
 * Metadata by name and type, of GGUF files of every kind of value and of safetensors.
 *
 * usage: weights_metadata FOLDER   which may be written to
 */
#include <float.h>
#include <math.h>
#include <time.h>

#include "check.h"

/* Types of values in a GGUF file. */
enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 };

enum { TOKENS = 150000 };

static uint8_t *content;
static size_t size;
static uint64_t keys;

static void put(const void *bytes, size_t n) {
    memcpy(content + size, bytes, n);
    size += n;
}
static void u32(uint32_t v) { put(&v, 4); }
static void u64(uint64_t v) { put(&v, 8); }

static void text(const char *s, size_t n) {
    u64(n);
    put(s, n);
}

static void key(const char *name, uint32_t type) {
    text(name, strlen(name));
    u32(type);
    keys++;
}

static void scalar(const char *name, uint32_t type, const void *value, size_t bytes) {
    key(name, type);
    put(value, bytes);
}

static void list(const char *name, uint32_t of, uint64_t count, const void *values, size_t bytes) {
    key(name, ARRAY);
    u32(of);
    u64(count);
    put(values, bytes);
}

static qtsa_weights open_file(const char *folder, const char *name) {
    char path[1024];
    qtsa_weights w;
    FILE *f;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "wb");
    CHECK(f != NULL && fwrite(content, 1, size, f) == size && fclose(f) == 0);
    OK(qtsa_weights_open(path, NULL, &w));
    return w;
}

static void is(qtsa_weights w, const char *name, int32_t type, int32_t is_array, uint64_t count, const char *stored) {
    qtsa_metadata_info info;
    OK(qtsa_weights_metadata_info(w, name, &info));
    if (info.type != type || info.is_array != is_array || info.count != count || strcmp(info.stored, stored) != 0) {
        fprintf(stderr, "%s is %d, array %d, %llu of %s\n", name, (int)info.type, (int)info.is_array,
                (unsigned long long)info.count, info.stored);
        exit(1);
    }
}

static int64_t whole(qtsa_weights w, const char *name) {
    int64_t v;
    size_t n;
    OK(qtsa_weights_metadata_get(w, name, QTSA_METADATA_INT, &v, 1, &n));
    CHECK(n == 1);
    return v;
}

static double real(qtsa_weights w, const char *name) {
    double v;
    size_t n;
    OK(qtsa_weights_metadata_get(w, name, QTSA_METADATA_FLOAT, &v, 1, &n));
    CHECK(n == 1);
    return v;
}

static const char *string(qtsa_weights w, const char *name, size_t index) {
    static char s[64];
    size_t n;
    OK(qtsa_weights_metadata_copy(w, name, index, s, sizeof s, &n));
    CHECK(n == strlen(s) + 1);
    return s;
}

static void of_gguf(const char *folder) {
    const uint8_t u8 = 200, yes = 1, flags[] = {1, 0, 1};
    const int8_t i8 = -100;
    const uint16_t u16 = 60000;
    const int16_t i16 = -30000;
    const uint32_t u_32 = 4000000000u;
    const int32_t i32 = -2000000000, numbers[] = {3, -4, 5};
    const uint64_t most = UINT64_MAX, large = UINT64_C(1) << 62;
    const int64_t least = INT64_MIN;
    const float f32 = 1.5f, floats[] = {0.25f, -FLT_MAX};
    const double f64 = 0.1;
    int64_t ints[3];
    int32_t bools[3];
    double reals[2];
    char s[64];
    size_t n, tensors, i;
    qtsa_metadata_info info;
    qtsa_weights w;
    clock_t start;

    size = keys = 0;
    put("GGUF", 4);
    u32(3);
    u64(0);
    u64(0); /* the number of keys, put right below */
    scalar("u8", U8, &u8, 1);
    scalar("i8", I8, &i8, 1);
    scalar("u16", U16, &u16, 2);
    scalar("i16", I16, &i16, 2);
    scalar("u32", U32, &u_32, 4);
    scalar("i32", I32, &i32, 4);
    scalar("u64", U64, &large, 8);
    scalar("most", U64, &most, 8);
    scalar("i64", I64, &least, 8);
    scalar("f32", F32, &f32, 4);
    scalar("f64", F64, &f64, 8);
    scalar("yes", BOOL, &yes, 1);
    key("text", STRING);
    text("gr\xc3\xb6\xc3\x9f", 6);
    key("raw", STRING);
    text("a\0\xff", 3);
    list("numbers", I32, 3, numbers, sizeof numbers);
    list("floats", F32, 2, floats, sizeof floats);
    list("flags", BOOL, 3, flags, 3);
    list("none", U8, 0, "", 0);
    key("tokens", ARRAY);
    u32(STRING);
    u64(TOKENS);
    for (i = 0; i < TOKENS; i++) text(s, (size_t)snprintf(s, sizeof s, "token %d", (int)i));
    key("nested", ARRAY);
    u32(ARRAY);
    u64(1);
    u32(U8);
    u64(2);
    put("\1\2", 2);
    memcpy(content + 16, &keys, 8);
    w = open_file(folder, "metadata.gguf");

    OK(qtsa_weights_count(w, &tensors, &n));
    CHECK(n == keys);
    OK(qtsa_weights_name_copy(w, QTSA_NAME_METADATA, 2, s, sizeof s, &n));
    CHECK(strcmp(s, "u16") == 0 && n == 4);
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_name_copy(w, QTSA_NAME_METADATA, keys, s, sizeof s, &n),
            "index is 20", "20 keys");

    is(w, "u8", QTSA_METADATA_INT, 0, 1, "u8");
    is(w, "f64", QTSA_METADATA_FLOAT, 0, 1, "f64");
    is(w, "yes", QTSA_METADATA_BOOL, 0, 1, "bool");
    is(w, "text", QTSA_METADATA_STRING, 0, 1, "string");
    is(w, "numbers", QTSA_METADATA_INT, 1, 3, "i32");
    is(w, "none", QTSA_METADATA_INT, 1, 0, "u8");
    is(w, "tokens", QTSA_METADATA_STRING, 1, TOKENS, "string");
    is(w, "nested", QTSA_METADATA_ARRAY, 1, 1, "array");
    REFUSED(QTSA_ERR_NOT_FOUND, qtsa_weights_metadata_info(w, "nothing", &info), "no metadata \"nothing\"", "20 keys");
    CHECK(info.count == 0);
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_metadata_info(w, NULL, &info), "key is null");

    CHECK(whole(w, "u8") == 200 && whole(w, "i8") == -100 && whole(w, "u16") == 60000 && whole(w, "i16") == -30000);
    CHECK(whole(w, "u32") == 4000000000 && whole(w, "i32") == -2000000000 && whole(w, "u64") == INT64_C(1) << 62);
    CHECK(whole(w, "i64") == INT64_MIN);
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_metadata_get(w, "most", QTSA_METADATA_INT, ints, 1, &n), "\"most\"",
            "18446744073709551615, more than an int64");
    CHECK(real(w, "f32") == 1.5 && real(w, "f64") == 0.1);
    OK(qtsa_weights_metadata_get(w, "yes", QTSA_METADATA_BOOL, bools, 1, &n));
    CHECK(n == 1 && bools[0] == 1);
    OK(qtsa_weights_metadata_get(w, "numbers", QTSA_METADATA_INT, NULL, 0, &n));
    CHECK(n == 3);
    OK(qtsa_weights_metadata_get(w, "numbers", QTSA_METADATA_INT, ints, 3, &n));
    CHECK(n == 3 && ints[0] == 3 && ints[1] == -4 && ints[2] == 5);
    OK(qtsa_weights_metadata_get(w, "floats", QTSA_METADATA_FLOAT, reals, 2, &n));
    CHECK(n == 2 && reals[0] == 0.25 && reals[1] == -(double)FLT_MAX);
    OK(qtsa_weights_metadata_get(w, "flags", QTSA_METADATA_BOOL, bools, 3, &n));
    CHECK(n == 3 && bools[0] == 1 && bools[1] == 0 && bools[2] == 1);
    OK(qtsa_weights_metadata_get(w, "none", QTSA_METADATA_INT, ints, 3, &n));
    CHECK(n == 0);
    ints[0] = 9;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_metadata_get(w, "numbers", QTSA_METADATA_INT, ints, 2, &n),
            "\"numbers\"", "room for 2 elements, it has 3");
    CHECK(n == 3 && ints[0] == 9);
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_metadata_get(w, "numbers", QTSA_METADATA_INT, NULL, 3, &n),
            "values is null");

    CHECK(strcmp(string(w, "text", 0), "gr\xc3\xb6\xc3\x9f") == 0);
    OK(qtsa_weights_metadata_copy(w, "raw", 0, s, sizeof s, &n));
    CHECK(n == 4 && memcmp(s, "a\0\xff", 4) == 0);
    start = clock();
    for (i = 0; i < TOKENS; i++) {
        char want[32];
        snprintf(want, sizeof want, "token %d", (int)i);
        CHECK(strcmp(string(w, "tokens", i), want) == 0);
    }
    CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 2); /* it does not search for each */
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_metadata_copy(w, "tokens", TOKENS, s, sizeof s, &n), "\"tokens\"",
            "no string 150000: there are 150000");

    /* Another type is named. */
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_metadata_get(w, "f32", QTSA_METADATA_INT, ints, 1, &n), "\"f32\"",
            "it is f32, not whole numbers");
    CHECK(n == 0);
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_metadata_get(w, "yes", QTSA_METADATA_INT, ints, 1, &n),
            "it is bool");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_metadata_get(w, "numbers", QTSA_METADATA_FLOAT, reals, 2, &n),
            "it is an array of i32, not real numbers");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_metadata_get(w, "text", QTSA_METADATA_BOOL, bools, 3, &n),
            "it is string, not booleans");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_metadata_copy(w, "u8", 0, s, sizeof s, &n),
            "it is u8, not strings");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_metadata_get(w, "nested", QTSA_METADATA_INT, ints, 3, &n),
            "it is an array of array");
    OK(qtsa_weights_metadata_copy(w, "nested", QTSA_WHOLE, s, sizeof s, &n));
    CHECK(strcmp(s, "[[1,2]]") == 0);
    OK(qtsa_weights_free(w));
    REFUSED(QTSA_ERR_INVALID_HANDLE, qtsa_weights_count(w, &tensors, &n), "freed");
}

static void of_safetensors(const char *folder) {
    const char *header = "{\"__metadata__\":{\"format\":\"pt\",\"layers\":\"12\"}}";
    char s[64];
    size_t n, tensors;
    int64_t ints[1];
    qtsa_weights w;
    size = 0;
    u64(strlen(header));
    put(header, strlen(header));
    w = open_file(folder, "metadata.safetensors");
    OK(qtsa_weights_count(w, &tensors, &n));
    CHECK(n == 2);
    OK(qtsa_weights_name_copy(w, QTSA_NAME_METADATA, 1, s, sizeof s, &n));
    CHECK(strcmp(s, "layers") == 0);
    is(w, "layers", QTSA_METADATA_STRING, 0, 1, "string");
    CHECK(strcmp(string(w, "format", 0), "pt") == 0 && strcmp(string(w, "layers", 0), "12") == 0);
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_metadata_get(w, "layers", QTSA_METADATA_INT, ints, 1, &n),
            "it is string");
    OK(qtsa_weights_free(w));

    OK(qtsa_weights_create(&w)); /* of no file */
    OK(qtsa_weights_count(w, &tensors, &n));
    CHECK(n == 0);
    REFUSED(QTSA_ERR_NOT_FOUND, qtsa_weights_metadata_get(w, "layers", QTSA_METADATA_INT, ints, 1, &n), "among 0 keys");
    OK(qtsa_weights_free(w));
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    content = malloc(8 << 20);
    CHECK(content != NULL);
    of_gguf(argv[1]);
    of_safetensors(argv[1]);
    free(content);
    return 0;
}
