#include "ort.hpp"

#include <dlfcn.h>

#include <stdexcept>

#include "contest.hpp"

namespace bench {

const OrtApi *ort() {
    static const OrtApi *const table = [] {
        const std::string path = place("BENCH_ONNXRUNTIME");
        void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            throw std::runtime_error(dlerror());
        }
        const auto base = reinterpret_cast<const OrtApiBase *(*)()>(dlsym(library, "OrtGetApiBase"));
        if (base == nullptr) {
            throw std::runtime_error(dlerror());
        }
        return base()->GetApi(ORT_API_VERSION);
    }();
    return table;
}

void must(OrtStatus *status) {
    if (status != nullptr) {
        const std::string message = ort()->GetErrorMessage(status);
        ort()->ReleaseStatus(status);
        throw std::runtime_error("ONNX Runtime: " + message);
    }
}

OrtEnv *ort_environment() {
    static OrtEnv *const environment = [] {
        OrtEnv *made;
        must(ort()->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "bench", &made));
        return made;
    }();
    return environment;
}

OrtSessionOptions *ort_options() {
    OrtSessionOptions *options;
    must(ort()->CreateSessionOptions(&options));
    must(ort()->SetIntraOpNumThreads(options, threads()));
    must(ort()->SetInterOpNumThreads(options, 1));
    must(ort()->SetSessionGraphOptimizationLevel(options, ORT_ENABLE_ALL));
    return options;
}

}  // namespace bench
