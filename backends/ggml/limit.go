package ggml

// LimitProcessor has the package's own kernels use no more of the processor than one of
// a level has, 0 for any, and says whether this one has that much. It is for tests, which
// reach the code for lesser processors with it.
func LimitProcessor(level int) bool { return limitProcessor(processor(level)) }
