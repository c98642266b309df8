# The one place where anything fetched from outside is pinned.
#
# The Makefile includes this file and build/provision parses it, so every line is
# a comment or KEY = value. *_NPM is what `npm pack` is asked for, *_HASH the
# integrity of the tarball as npm writes it (sha512, base64); to move a pin, change
# both, and GGML_VERSION with them where it is ggml that moves.

# ggml: this version comes with the packages below, and headers, source and
# libraries must agree on it.
GGML_VERSION = 0.25.1

# The oldest installed ggml that GGML=system and GGML_DIR accept.
GGML_SYSTEM_MIN = 0.21

# Headers and source: a git bundle inside this package.
GGML_SOURCE_NPM = node-llama-cpp@3.22.1
GGML_SOURCE_HASH = sha512-bltIipuWmc123H7tMIgDGKSsSrhmhlQYeVUC48XTjVW7XGJJiJJyCdlTMzQ/LiWoPkGDpcL4FviDpgw7qfTiDw==

# Prebuilt libraries, by platform.
GGML_LINUX_AMD64_NPM = @node-llama-cpp/linux-x64-vulkan@3.22.1
GGML_LINUX_AMD64_HASH = sha512-bBxqU+JOcBu1nb5Qj2zcMci+JByT1E8EajHvYodyNfVIPkEhXh+/HMwR1/BT7xP08YK0hks+kM8fglER0P8JEg==
GGML_LINUX_ARM64_NPM = @node-llama-cpp/linux-arm64@3.22.1
GGML_LINUX_ARM64_HASH = sha512-W+7naKCXX9/eEjjFmRS8vvx91QyLXDbeFxexZc3bh/PtQABZgmRL3C0AtYYXn4YGTj/3Qor4lWZn2tpjZFPLdQ==

# The registry that these pins were taken from serves no 3.22.1 for macOS: there,
# the newest that it serves, with the headers and source of that ggml.
GGML_DARWIN_VERSION = 0.23.0
GGML_DARWIN_SOURCE_NPM = node-llama-cpp@3.21.1
GGML_DARWIN_SOURCE_HASH = sha512-E3N0Ev2Va0wzydvXYFwM9Hvyo07PoWjt8T/9GMc43Cvt8YkV/NU/tYUgEMC1grTPv2o9PRjQi0G3Wb5P/awiMg==
GGML_DARWIN_ARM64_NPM = @node-llama-cpp/mac-arm64-metal@3.21.1
GGML_DARWIN_ARM64_HASH = sha512-6MIDAZV7DXD9R1+jEXWJkFuolni3GATGE6mmuyFYc6ZmtOh9djAy15df0T0AXK3sCmVKL+fQcOAWZezxx4MvQQ==
GGML_DARWIN_AMD64_NPM = @node-llama-cpp/mac-x64@3.21.1
GGML_DARWIN_AMD64_HASH = sha512-Q4nyNmbcNiKygBZQZjX+qLk2w3YzoiFpLWsxNURQN7xjyUi2p2rWxjRa7Otg0FrjGf/ri4aQ+X3Uj5Y0zD06eg==

# Another ggml (0.9.7), for the tests that put two copies into one process.
OTHER_GGML_NPM = @node-llama-cpp/linux-x64@3.17.1
OTHER_GGML_HASH = sha512-/o/UoqAdslg4ExdKYyYPqbw+21Dr4cQ2JgouXg8Ji3opRKoTMrlUNfrMwIsYZfbDDJ8l7xFnwfGIwdlQ5RPwJg==

# ESRGAN-slim's weights, for the upscaling example.
ESRGAN_NPM = @upscalerjs/esrgan-slim@1.0.0
ESRGAN_HASH = sha512-DXtwn5SE71+pZKluN/hGeLaZv6ZylyFQYSvMqU08kKCEA5Y9Q1cIIk4EvPTPZw8VqGi2C6F02c8OjhtId4BK2w==

# ONNX Runtime, a peer in the benchmarks.
ONNXRUNTIME_NPM = onnxruntime-node@1.30.0
ONNXRUNTIME_HASH = sha512-twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==

# Its C header, which the npm package lacks: a Go module that carries it, and the
# checksum as go.sum writes it.
ONNXRUNTIME_HEADER_GO = github.com/yalue/onnxruntime_go@v1.27.0
ONNXRUNTIME_HEADER_HASH = h1:c1YSgDNtpf0WGtxj3YeRIb8VC5LmM1J+Ve3uHdteC1U=

# Tools, built from the Go module proxy.
GOLANGCI_LINT_VERSION = v2.15.0
GOFUMPT_VERSION = v0.12.0

# Zig, from PyPI, whose compiler has the C headers of macOS.
ZIG_VERSION = 0.17.1
