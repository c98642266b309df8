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
GGML_SYSTEM_MIN = 0.21.0

# Headers and source: a git bundle inside this package.
GGML_SOURCE_NPM = node-llama-cpp@3.22.1
GGML_SOURCE_HASH = sha512-bltIipuWmc123H7tMIgDGKSsSrhmhlQYeVUC48XTjVW7XGJJiJJyCdlTMzQ/LiWoPkGDpcL4FviDpgw7qfTiDw==

# Prebuilt libraries, by platform.
GGML_LINUX_AMD64_NPM = @node-llama-cpp/linux-x64-vulkan@3.22.1
GGML_LINUX_AMD64_HASH = sha512-bBxqU+JOcBu1nb5Qj2zcMci+JByT1E8EajHvYodyNfVIPkEhXh+/HMwR1/BT7xP08YK0hks+kM8fglER0P8JEg==
GGML_LINUX_ARM64_NPM = @node-llama-cpp/linux-arm64@3.22.1
GGML_LINUX_ARM64_HASH = sha512-W+7naKCXX9/eEjjFmRS8vvx91QyLXDbeFxexZc3bh/PtQABZgmRL3C0AtYYXn4YGTj/3Qor4lWZn2tpjZFPLdQ==
