/* Files that weights are opened from: whole ones, made by the library itself, and ones
 * that are none. */
#ifndef FUZZCALLS_FILES_H
#define FUZZCALLS_FILES_H

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "qtsaccel.h"

static const char *const file_names[] = {
    "whole.gguf",        "whole.gguf", "whole.gguf", "whole.gguf",
    "whole.safetensors", "cut.gguf",   "bytes.gguf", "empty.gguf",
    "cut.safetensors",   "folder",     "flags.gguf", "absent",
    "huge.gguf",         "saved0",     "saved1",     "model.safetensors.index.json"};

static const char *const metadata_keys[] = {"whole", "real",         "text", "wholes",
                                            "reals", "general.name", "flag", "absent"};

inline void write_file(const std::string &path, const std::string &bytes) {
    FILE *f = fopen(path.c_str(), "wb");
    if (f == nullptr || fwrite(bytes.data(), 1, bytes.size(), f) != bytes.size() || fclose(f) != 0) {
        perror(path.c_str());
        exit(2);
    }
}

inline std::string read_file(const std::string &path) {
    std::string all;
    char piece[4096];
    FILE *f = fopen(path.c_str(), "rb");
    if (f == nullptr) return all;
    while (size_t n = fread(piece, 1, sizeof piece, f)) all.append(piece, n);
    fclose(f);
    return all;
}

inline void must(qtsa_status s) {
    if (s == QTSA_OK) return;
    fprintf(stderr, "%s: %s\n", qtsa_status_name(s), qtsa_last_error());
    exit(2);
}

/* The values of the tensor "w" [4, 32] of the whole files. */
inline float file_value(int64_t i) { return static_cast<float>(i % 7) - 3; }

/* A folder with the CPU's plugins alone, so that no GPU is looked for by chance. */
inline void make_plugin_folder(const std::string &folder) {
    Dl_info library;
    if (dladdr(reinterpret_cast<void *>(&qtsa_version), &library) == 0) exit(2);
    const std::string whole = library.dli_fname;
    char *path = realpath(whole.substr(0, whole.rfind('/') + 1).c_str(), nullptr);
    const std::string from = std::string(path != nullptr ? path : ".") + "/qtsaccel";
    free(path);
    mkdir(folder.c_str(), 0700);
    DIR *d = opendir(from.c_str());
    while (const dirent *e = d != nullptr ? readdir(d) : nullptr) {
        const std::string name = e->d_name;
        if (name.find("-base") == std::string::npos && name.find("-cpu") == std::string::npos) continue;
        if (symlink((from + "/" + name).c_str(), (folder + "/" + name).c_str()) != 0) exit(2);
    }
    if (d != nullptr) closedir(d);
}

inline void make_files(const std::string &folder) {
    const int64_t matrix[] = {4, 32}, vector[] = {4};
    const int64_t wholes[] = {1, -2, 3};
    const double reals[] = {0.5, -1.5};
    float values[128];
    for (int i = 0; i < 128; i++) values[i] = file_value(i);
    qtsa_weights w;
    must(qtsa_weights_create(&w));
    const qtsa_array w_array = qtsa_array_dense(QTSA_DTYPE_F32, matrix, 2, values, sizeof values),
                     a_array = qtsa_array_dense(QTSA_DTYPE_F32, vector, 1, values, 16),
                     hollow = qtsa_array_dense(QTSA_DTYPE_Q8_0, matrix, 2, nullptr, 0);
    must(qtsa_weights_add(w, "w", &w_array));
    must(qtsa_weights_add(w, "a", &a_array));
    must(qtsa_weights_add(w, "b", &hollow));
    must(qtsa_weights_set(w, "b", &w_array));
    const qtsa_attr metadata[] = {
        qtsa_attr_int("whole", 42),
        qtsa_attr_float("real", 0.25),
        qtsa_attr_string("text", "\xe2\x82\xac"),
        qtsa_attr_ints("wholes", wholes, 3),
        qtsa_attr_floats("reals", reals, 2),
    };
    must(qtsa_weights_save(w, (folder + "/whole.gguf").c_str(), metadata, 5, nullptr, nullptr));
    must(qtsa_weights_free(w));

    const std::string whole = read_file(folder + "/whole.gguf");
    write_file(folder + "/cut.gguf", whole.substr(0, whole.size() / 2));
    write_file(folder + "/bytes.gguf", "GGUF\x03" + std::string(200, '\xff'));
    write_file(folder + "/empty.gguf", "");
    /* Version 3, no tensor, and one value: flag, a boolean (7), 1. */
    std::string flags = "GGUF";
    const uint64_t counts[] = {0, 1, 4};
    flags += std::string("\3\0\0\0", 4) + std::string(reinterpret_cast<const char *>(counts), sizeof counts);
    write_file(folder + "/flags.gguf", flags + "flag" + std::string("\7\0\0\0\1", 5));
    std::string huge = whole;
    huge[8] = huge[9] = huge[10] = huge[11] = '\xff'; /* how many tensors there are */
    write_file(folder + "/huge.gguf", huge);

    const std::string header =
        R"({"w":{"dtype":"F32","shape":[4,32],"data_offsets":[0,512]},"__metadata__":{"text":"t"}})";
    std::string st(8, '\0');
    st[0] = static_cast<char>(header.size());
    st += header;
    st.append(reinterpret_cast<const char *>(values), sizeof values);
    write_file(folder + "/whole.safetensors", st);
    write_file(folder + "/cut.safetensors", st.substr(0, 20));
    write_file(folder + "/model.safetensors.index.json", R"({"weight_map":{"w":"whole.safetensors"}})");
    mkdir((folder + "/folder").c_str(), 0700);
}

#endif
