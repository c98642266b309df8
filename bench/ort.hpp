// ONNX Runtime through its C API, out of the library that BENCH_ONNXRUNTIME names.
#pragma once

#include <onnxruntime_c_api.h>

namespace bench {

const OrtApi *ort();

// Throws what a status says, and lets it go.
void must(OrtStatus *status);

// One for the whole process, never released.
OrtEnv *ort_environment();

// All optimisations, the contest's threads; the caller's to release.
OrtSessionOptions *ort_options();

}  // namespace bench
