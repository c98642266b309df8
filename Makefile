# qtsaccel. `make` or `make help` lists what there is; everything made goes to dist/.

include build/versions.mk

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

DIST := dist
UNAME := $(shell uname -s)

# Installation folders of `make install`.
PREFIX ?= /usr/local
DESTDIR ?=

# Where ggml comes from, read by build/provision: GGML=system, GGML=source or
# GGML_DIR=<prefix>; without them, pinned prebuilt libraries.
export GGML GGML_DIR GGML_BACKEND_DIR GGML_CUDA GGML_VULKAN GGML_CPU CUDA_ARCHS

# Of one form everywhere, so that what one target has compiled no other compiles again,
# here or in another copy of the tree.
export GOFLAGS := $(strip $(filter-out -trimpath,$(GOFLAGS)) -trimpath)

# Pure Go, so that no compiler is needed and every run after the first is cached.
PROVISION := CGO_ENABLED=0 go run ./build/provision

# --------------------------------------------------------------- What it needs

# Debian packages, by need. A command's package is looked for by the command, so
# that one installed otherwise will do.
DEBIAN_BUILD := gcc g++ git pkg-config
DEBIAN_EXAMPLES := libpng-dev libsndfile1-dev libcjson-dev
DEBIAN_VULKAN := mesa-vulkan-drivers libvulkan1
DEBIAN_BENCH := libdnnl-dev
DEBIAN_SYSTEM_TEST := debootstrap
# Building ggml from source; nvcc, for CUDA, comes from its maker.
DEBIAN_SOURCE := cmake g++ $(if $(filter 1 on yes,$(GGML_VULKAN)),glslc libvulkan-dev spirv-headers)

##@ Setting up

.PHONY: deps
deps: ## Install the Debian packages for building, examples and tests (as root; else say which)
	@build/deps.sh $(DEBIAN_BUILD) $(DEBIAN_EXAMPLES) $(DEBIAN_VULKAN)

# Made once for all steps of `make test`, whose tests ask for some of them again: then
# they are taken as they are.
SHARED := ggml test-data lib bin static-lib test-lib
ifdef QTSACCEL_BUILT
.PHONY: $(SHARED)
$(SHARED): ;
else

.PHONY: ggml
ggml: ## Provide ggml's headers and libraries (GGML=system, GGML_DIR=<prefix>: an installed one)
	@$(PROVISION) ggml

endif

.PHONY: ggml-source
ggml-source: ## Build what prebuilt ggml lacks: GGML_CUDA=1 CUDA_ARCHS=90, GGML_VULKAN=1, or a native CPU backend
	@build/deps.sh $(DEBIAN_SOURCE)
	@$(PROVISION) ggml-source

# What tests and benchmarks use besides.
ifndef QTSACCEL_BUILT
.PHONY: test-data
test-data:
	@$(PROVISION) esrgan $(if $(filter Linux-x86_64,$(UNAME)-$(shell uname -m)),other-ggml)
endif

# ------------------------------------------------------------------- The build

LIB_VERSION := 0
ifeq ($(UNAME),Darwin)
LIB := $(DIST)/lib/libqtsaccel.$(LIB_VERSION).dylib
LIB_LINK := $(DIST)/lib/libqtsaccel.dylib
LIB_LDFLAGS := -Wl,-install_name,@rpath/$(notdir $(LIB))
else
LIB := $(DIST)/lib/libqtsaccel.so.$(LIB_VERSION)
LIB_LINK := $(DIST)/lib/libqtsaccel.so
# The linker runs in a folder of its own, so the map's path is absolute.
LIB_LDFLAGS := -Wl,--version-script=$(abspath build/exports.map) -Wl,-soname,$(notdir $(LIB))
endif
HEADERS := $(wildcard include/*.h include/*.hpp)

##@ Building

# $(call build-lib,FILE,FLAGS) builds the library. Go compiles only what is stale; a
# shared library it links anew each time, which takes a few seconds. It takes the old
# one's place when it is whole: tests that run side by side build and load it.
build-lib = mkdir -p $(dir $(1)) && new=$$(mktemp -d $(dir $(1)).new-XXXXXX) && trap "rm -rf $$new" EXIT && \
	go build -buildmode=c-shared $(2) -ldflags='-s -w -extldflags "$(LIB_LDFLAGS)"' -o $$new/$(notdir $(1)) ./capi && \
	mv -f $$new/$(notdir $(1)) $(1) && ln -sfn $(notdir $(1)) $(dir $(1))$(notdir $(LIB_LINK))

ifndef QTSACCEL_BUILT
.PHONY: lib
lib: ggml ## Build libqtsaccel and put its headers beside it
	@mkdir -p $(DIST)/include
	@$(call build-lib,$(LIB))
	@for h in $(HEADERS); do cmp -s $$h $(DIST)/include/$${h##*/} || cp $$h $(DIST)/include/; done

.PHONY: bin
bin: ggml ## Build the command line tool
	@mkdir -p $(DIST)/bin
	@go build -ldflags='-s -w' -o $(DIST)/bin/ ./cmd/...
endif

.PHONY: examples
examples: deps lib ## Build the example programs
	@$(MAKE) -C examples/c

# What programs need that link the static library, besides it.
ifeq ($(UNAME),Darwin)
LIBS_PRIVATE := -lc++ -framework CoreFoundation -framework Security
else
LIBS_PRIVATE := -lstdc++ -lpthread -ldl -lm
endif
STATIC_LIB := $(DIST)/static/libqtsaccel.a

ifndef QTSACCEL_BUILT
.PHONY: static-lib
static-lib: ggml ## Build the static library, dist/static/libqtsaccel.a
	@mkdir -p $(dir $(STATIC_LIB))
	@go build -buildmode=c-archive -ldflags='-s -w' -o $(STATIC_LIB) ./capi && rm -f $(STATIC_LIB:.a=.h)
endif

# The version, as the header says.
VERSION = $(shell sed -n 's/^\#define QTSA_VERSION_M[AI][JN]OR //p; s/^\#define QTSA_VERSION_PATCH //p' include/qtsaccel.h | paste -sd.)
# Fills in a template of build/package: $(call template,NAME,TO).
template = sed 's|@VERSION@|$(VERSION)|; s|@VERSION_MAJOR@|$(firstword $(subst ., ,$(VERSION)))|; s|@LIB@|$(notdir $(LIB))|; s|@LIBS_PRIVATE@|$(LIBS_PRIVATE)|' build/package/$(1).in >'$(2)/$(1)'

.PHONY: install
install: lib static-lib bin ## Install library, plugins, headers and tool under PREFIX (and DESTDIR)
	@to='$(DESTDIR)$(PREFIX)'; set -x; \
	install -d "$$to"/{bin,include,lib/qtsaccel,lib/pkgconfig,lib/cmake/qtsaccel}; \
	install -m 755 $(DIST)/bin/qtsaccel "$$to/bin/"; \
	install -m 644 $(HEADERS) "$$to/include/"; \
	install -m 755 $(LIB) "$$to/lib/"; \
	install -m 644 $(STATIC_LIB) "$$to/lib/"; \
	cp -P $(LIB_LINK) "$$to/lib/"; \
	install -m 755 $(DIST)/lib/qtsaccel/* "$$to/lib/qtsaccel/"
	@$(call template,qtsaccel.pc,$(DESTDIR)$(PREFIX)/lib/pkgconfig)
	@$(call template,qtsaccel-config.cmake,$(DESTDIR)$(PREFIX)/lib/cmake/qtsaccel)
	@$(call template,qtsaccel-config-version.cmake,$(DESTDIR)$(PREFIX)/lib/cmake/qtsaccel)

# A folder that works wherever it is unpacked. The same tree gives the same bytes.
RELEASE = qtsaccel-$(VERSION)-$(shell echo $(UNAME) | tr A-Z a-z)-$(shell uname -m)
STAGE = $(DIST)/release/$(RELEASE)

.PHONY: dist
dist: lib static-lib bin ## Make the relocatable tarball dist/release/qtsaccel-*.tar.gz, with licences, SBOM and checksums
	@rm -rf $(DIST)/release && mkdir -p $(STAGE)
	@$(MAKE) -s install PREFIX= DESTDIR=$(abspath $(STAGE)) 2>/dev/null
	@install -m 644 README.md docs/operators.md $(STAGE)/
	@go run ./build/release $(STAGE) $(VERSION) $(if $(filter Darwin,$(UNAME)),$(GGML_DARWIN_VERSION),$(GGML_VERSION)) $(LIB) $(DIST)/bin/qtsaccel
	@tar -C $(DIST)/release --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - $(RELEASE) | gzip -n >$(STAGE).tar.gz
	@rm -rf $(STAGE) && cd $(DIST)/release && sha256sum $(RELEASE).tar.gz | tee $(RELEASE).tar.gz.sha256

.PHONY: demo
demo: deps lib ## Upscale a picture with a real model, through the C API
	@$(PROVISION) esrgan
	@$(MAKE) -C examples/c demo

##@ Testing

# A software Vulkan device compiles hundreds of kernels when it has none yet. `make lint`
# vets.
GO_TEST := go test -vet=off -timeout 85m

# What takes seconds comes first.
TEST_STEPS := fmt-check generated lint test-race-core test-kernels-asan $(if $(filter-out Darwin,$(UNAME)),test-vulkan-operators) \
  test-go test-fuzz test-graphs test-python test-install test-swift site
.PHONY: test
test: ## Set up what is needed, check what `make check` does, and run every test; CI runs this
	@$(if $(filter-out Darwin,$(UNAME)),QTSACCEL_TEST_VULKAN=1) build/steps.sh $(MAKE) deps test-build QTSACCEL_BUILT=1 $(TEST_STEPS)

# Python with what its tests need, and with what makes the site, each made anew when
# that changes.
VENV := $(DIST)/venv
VENV_STAMP := $(VENV)/.made
SITE_VENV := $(DIST)/site-venv
PYTHON ?= python3
$(VENV_STAMP): bindings/python/requirements-dev.txt
$(SITE_VENV)/.made: docs/site/requirements.txt
$(VENV_STAMP) $(SITE_VENV)/.made:
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || build/deps.sh python3-venv
	@rm -rf $(@D) && $(PYTHON) -m venv $(@D)
	@$(@D)/bin/pip install -q --disable-pip-version-check -r $<
	@touch $@

# What the steps of `make test`, and what they run, share.
.PHONY: test-build
test-build: $(SHARED) $(VENV_STAMP)

# The Go tests; those of the documentation run its Python.
.PHONY: test-go
test-go: lib bin test-lib $(VENV_STAMP)
	@$(GO_TEST) ./...

# The wheel is built from a copy of the package, with the library, its plugins and
# the tool beside it.
WHEEL_TREE := $(DIST)/wheel/tree
.PHONY: wheel
wheel: lib bin $(VENV_STAMP) ## Build the Python wheel into dist/wheel, with library, plugins and tool
	@rm -rf $(DIST)/wheel && mkdir -p $(WHEEL_TREE)
	@cp -r bindings/python/. $(WHEEL_TREE) && cp LICENSE $(WHEEL_TREE)/ && cp $(DIST)/licenses/ggml.txt $(WHEEL_TREE)/LICENSE.ggml
	@native=$(WHEEL_TREE)/qtsaccel/native && mkdir -p $$native/lib $$native/bin && \
	cp $(LIB) $$native/lib/ && cp -rL $(DIST)/lib/qtsaccel $$native/lib/ && cp $(DIST)/bin/qtsaccel $$native/bin/
	@cd $(WHEEL_TREE) && $(abspath $(VENV))/bin/hatchling build -t wheel -d $(abspath $(DIST))/wheel
	@rm -rf $(WHEEL_TREE)

.PHONY: test-python
test-python: wheel examples test-data ## Test the Python package, and the wheel in an empty environment
	@PYTHONPATH=bindings/python QTSACCEL_LIBRARY=$(abspath $(LIB)) PYTHONDONTWRITEBYTECODE=1 \
	  $(VENV)/bin/python -m pytest -q -rs -p no:cacheprovider tests/python

# The library with hooks for tests (capi/hooks.go), and the same with the address
# sanitizer. They use the plugins of the other.
ifndef QTSACCEL_BUILT
.PHONY: test-lib
test-lib: lib
	@$(call build-lib,$(DIST)/test/$(notdir $(LIB)),-tags qtsatest)
	@ln -sfn ../lib/qtsaccel $(DIST)/test/qtsaccel
endif
.PHONY: asan-lib
asan-lib: lib
	@$(call build-lib,$(DIST)/asan/$(notdir $(LIB)),-asan -tags qtsatest)
	@ln -sfn ../lib/qtsaccel $(DIST)/asan/qtsaccel

.PHONY: test-cpp
test-cpp: deps lib test-data ## Test the C++ header, and the examples in C++ beside those in C
	@$(GO_TEST) ./tests/cpp

# Consumers of an installation, of the tarball and of the static library.
DEBIAN_INSTALL_TEST := cmake
.PHONY: test-install
test-install: deps lib ## Test what make install and make dist give, as other projects use it
	@build/deps.sh $(DEBIAN_INSTALL_TEST)
	@QTSACCEL_TEST_INSTALL=1 $(GO_TEST) -count=1 ./tests/install
	@QTSACCEL_TEST_INSTALL=1 $(GO_TEST) -count=1 -run CMake ./tests/docs

.PHONY: test-swift
test-swift: examples static-lib test-data ## Test the Swift package, with swift on the PATH or Debian's in a root (as root)
	@command -v swift >/dev/null || [ "$$(id -u)" != 0 ] || build/deps.sh $(DEBIAN_SYSTEM_TEST)
	@$(MAKE) -s install PREFIX= DESTDIR=$(abspath $(DIST))/prefix 2>/dev/null
	@go run ./tests/docs/extract $(DIST)/swift-docs docs/*.md bindings/swift/README.md
	@build/test-swift.sh $(DIST)/trixie-swift $(DIST)/prefix $(DIST)/swift
	@QTSACCEL_TEST_SWIFT=1 $(GO_TEST) -count=1 ./tests/swift

# What a Swift package's binaryTarget takes: the dylib, whose install name is @rpath's,
# and the header with a module map. The plugins go beside the dylib in the app.
.PHONY: xcframework
xcframework: lib ## On a Mac: make dist/CQtsAccel.xcframework, for a Swift package's binaryTarget
	@command -v xcodebuild >/dev/null || { echo 'xcframework: needs xcodebuild, on a Mac'; exit 1; }
	@rm -rf $(DIST)/CQtsAccel.xcframework $(DIST)/xcframework-headers && mkdir -p $(DIST)/xcframework-headers
	@cp include/qtsaccel.h $(DIST)/xcframework-headers/
	@printf 'module CQtsAccel [system] { header "qtsaccel.h" export * }\n' >$(DIST)/xcframework-headers/module.modulemap
	@xcodebuild -create-xcframework -library $(LIB) -headers $(DIST)/xcframework-headers -output $(DIST)/CQtsAccel.xcframework

.PHONY: test-shape
test-shape: ggml ## Test how many files a new operator takes, and that a new option is missed where it lacks
	@QTSACCEL_TEST_SHAPE=1 $(GO_TEST) -count=1 -v ./tests/shape

.PHONY: test-race
test-race: ggml ## Run the Go tests with the race detector
	@QTSACCEL_TEST_RACE=1 $(GO_TEST) -race ./...

# What goroutines share, where the detector says most.
SHARED_BY_GOROUTINES := guarded handle refcount run engine session oplevel weights modelfile
.PHONY: test-race-core
test-race-core: ## Run the race detector on what goroutines share
	@$(GO_TEST) -race $(SHARED_BY_GOROUTINES:%=./core/%)

.PHONY: test-asan
test-asan: asan-lib ## Run the C API's tests and random calls with the address sanitizer
	@QTSACCEL_TEST_ASAN=1 $(GO_TEST) ./tests/c ./tests/fuzzcalls

# What steps beyond its operands, or does what C++ leaves undefined. Go's calls pass
# CGO_CXXFLAGS before the package's own flags.
.PHONY: test-kernels-asan
test-kernels-asan: ## Run the tests of the CPU kernels with the address and undefined behaviour sanitizers
	@CGO_CXXFLAGS='-O2 -g -fsanitize=undefined -fno-sanitize-recover=all' CGO_LDFLAGS=-fsanitize=undefined \
	  $(GO_TEST) -asan ./backends/kernels

# The readers of files for as long as it is worth; what they found is kept under
# testdata/fuzz and tried by every `go test`.
FUZZ_TIME ?= 60s
READERS := gguf:FuzzParse safetensors:FuzzParse
.PHONY: fuzz
fuzz: ## Fuzz the readers of weight files and what belongs to them, each for FUZZ_TIME
	@build/fuzz.sh $(FUZZ_TIME) $(READERS) gguf:FuzzWrite safetensors:FuzzParseIndex

.PHONY: test-fuzz
test-fuzz:
	@build/fuzz.sh $(FUZZ_TIME) $(READERS)

# Random graphs on DEVICES for FUZZ_TIME, from SEED on. The program is a binary that a
# machine without Go can run, too, beside ggml's libraries (-plugins).
DEVICES ?= cpu
SEED ?= $(shell date +%s)
.PHONY: fuzz-graphs fuzzgraphs
fuzzgraphs: ggml ## Build the search for graphs that come out wrong, dist/bin/fuzzgraphs
	@go build -o $(DIST)/bin/fuzzgraphs ./tests/fuzzgraphs
fuzz-graphs: fuzzgraphs ## Try random graphs for FUZZ_TIME on DEVICES='cpu cpu:haswell vulkan:0', from SEED on
	@$(DIST)/bin/fuzzgraphs -plugins $(DIST)/lib/qtsaccel -time $(FUZZ_TIME) -seed $(SEED) -devices '$(DEVICES)' -json $(DIST)/fuzzgraphs.json

# As many as take a minute, other ones each time; a count, since a clock on a busy machine
# says nothing.
TEST_GRAPHS ?= 15000
.PHONY: test-graphs
test-graphs: fuzzgraphs
	@$(DIST)/bin/fuzzgraphs -plugins $(DIST)/lib/qtsaccel -n $(TEST_GRAPHS) -seed $(SEED) -devices 'cpu cpu@0'

# The same with the address sanitizer in the C++ of backends/ggml.
.PHONY: fuzz-graphs-asan
fuzz-graphs-asan: ggml ## Try random graphs with the address sanitizer
	@go build -asan -o $(DIST)/asan/fuzzgraphs ./tests/fuzzgraphs
	@$(DIST)/asan/fuzzgraphs -plugins $(DIST)/lib/qtsaccel -time $(FUZZ_TIME) -seed $(SEED) -devices '$(DEVICES)'

# Random sequences of calls through the C API, against the library with hooks. The program
# that results needs dist/fuzzcalls, dist/test and dist/lib of this tree, and nothing else.
FUZZ_CALLS ?= 10000000
FUZZ_JOBS ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_CALLS_DIR := tests/fuzzcalls
# $(call build-fuzz-calls,NAME,LIBRARY,FLAGS)
build-fuzz-calls = mkdir -p $(DIST)/fuzzcalls && go run ./$(FUZZ_CALLS_DIR)/table include/qtsaccel.h >$(DIST)/fuzzcalls/table.h && \
	$(CXX) -std=c++17 -O1 -g -Wall -Wextra -Werror $(3) -Iinclude -I$(DIST)/fuzzcalls -o $(DIST)/fuzzcalls/$(1) \
	  $(FUZZ_CALLS_DIR)/programs/fuzz.cpp -L$(DIST)/$(2) -lqtsaccel -Wl,-rpath,'$$ORIGIN/../$(2)' -lpthread -ldl
.PHONY: fuzz-calls fuzz-calls-program fuzz-calls-asan-program
fuzz-calls-program: test-lib
	@$(call build-fuzz-calls,fuzz,test)
fuzz-calls-asan-program: asan-lib
	@$(call build-fuzz-calls,fuzz-asan,asan,-fsanitize=address)
fuzz-calls: fuzz-calls-program ## Make FUZZ_CALLS random calls through the C API on FUZZ_JOBS processors, from SEED on
	@$(DIST)/fuzzcalls/fuzz --calls $(FUZZ_CALLS) --jobs $(FUZZ_JOBS) --seed $(SEED)

# Every point of a cycle at which the system may refuse something; `make test` tries a part.
.PHONY: test-hostile
test-hostile: test-lib ## Have every system call and allocation of a cycle fail in turn
	@QTSACCEL_TEST_HOSTILE=1 $(GO_TEST) -timeout 120m -count=1 -v ./tests/hostile

# An hour or SOAK_TIME; `make test` goes ten thousand rounds.
SOAK_TIME ?= 1h
.PHONY: soak
soak: test-lib ## Use the library for SOAK_TIME: flat in memory, threads, descriptors and handles
	@QTSACCEL_SOAK_TIME=$(SOAK_TIME) go test -timeout 0 -count=1 -v ./tests/soak

.PHONY: test-vulkan
test-vulkan: lib bin test-lib test-data test-vulkan-operators ## Run the tests on Vulkan, with Mesa's software device where there is no other
	@QTSACCEL_TEST_VULKAN=1 $(GO_TEST) ./tests/...

.PHONY: test-vulkan-operators
test-vulkan-operators: lib
	@build/deps.sh $(DEBIAN_VULKAN)
	@QTSACCEL_TEST_DEVICE=vulkan GGML_VK_VISIBLE_DEVICES=0 $(GO_TEST) -run OnDevice ./backends/ggml

# What runs in a Debian root against the ggml that Debian packages, and the packages
# that it needs besides a compiler.
SYSTEM_GGML_TARGETS ?= test-provision lib test-on-this-ggml
export SYSTEM_GGML_PACKAGES ?= $(DEBIAN_VULKAN) $(DEBIAN_EXAMPLES)

.PHONY: test-system-ggml
test-system-ggml: ## Run SYSTEM_GGML_TARGETS in a Debian trixie root with ggml from backports (as root)
	@build/deps.sh $(DEBIAN_SYSTEM_TEST)
	@build/test-system-ggml.sh $(DIST)/trixie $(SYSTEM_GGML_TARGETS)

# ggml's Vulkan shaders need a newer glslc than Debian 12 has. The software device there
# has cooperative matrices, with which products come out wrong (docs/devices.md).
.PHONY: test-vulkan-source
test-vulkan-source: ## Build Vulkan's plugin from source in a Debian trixie root, and test the operators on it (as root)
	@build/deps.sh $(DEBIAN_SYSTEM_TEST)
	@SYSTEM_GGML_PACKAGES='$(DEBIAN_VULKAN) cmake glslc libvulkan-dev spirv-headers' \
	  build/test-system-ggml.sh $(DIST)/trixie-source GGML= GGML_VULKAN=1 GGML_VK_DISABLE_COOPMAT=1 ggml-source test-vulkan-operators

# The operators, the C API and the models on whatever ggml was provided.
.PHONY: test-on-this-ggml
test-on-this-ggml: lib test-lib
	@$(GO_TEST) -count=1 ./backends/ggml ./tests/c ./tests/models

.PHONY: test-provision
test-provision:
	@$(GO_TEST) -count=1 ./build/...

.PHONY: bench
bench: lib ## Measure against raw ggml and ONNX Runtime; writes dist/bench/
	@$(PROVISION) onnxruntime esrgan
	@$(MAKE) -C bench

.PHONY: bench-ops
bench-ops: lib ## Measure single operators against raw ggml, oneDNN and ONNX Runtime, THREADS=1 each; writes dist/bench/ops.json
	@build/deps.sh $(DEBIAN_BENCH)
	@$(PROVISION) onnxruntime
	@$(MAKE) -C bench ops

.PHONY: bench-kernels
bench-kernels: ## Measure the CPU kernels by themselves, on one thread, for each kind of processor that this one is
	@go test -run '^$$' -bench . ./backends/kernels

.PHONY: bench-python
bench-python: lib $(VENV_STAMP) ## Measure what Python costs over the C API; writes dist/bench/python.json
	@mkdir -p $(DIST)/bench && $(CC) -O2 -Wall -Werror -shared -fPIC -Iinclude -o $(DIST)/bench/loop.so bench/python/loop.c
	@PYTHONPATH=bindings/python QTSACCEL_LIBRARY=$(abspath $(LIB)) PYTHONDONTWRITEBYTECODE=1 \
	  $(VENV)/bin/python bench/python/bench.py $(abspath $(DIST))/bench/loop.so $(DIST)/bench/python.json

.PHONY: bench-weights
bench-weights: lib ## Measure how fast weights are mapped, copied, converted and multiplied with; writes dist/bench/weights.json
	@$(MAKE) -C bench quantised
	@go run ./bench/weights

# ---------------------------------------------------------- The documentation

# A tree like this one, but for what is added to docs/: the header as reference, and
# the pages that only the site has. Links from docs/ to sources hold there.
SITE_TREE := $(DIST)/site-tree

##@ Documentation

.PHONY: site
site: $(SITE_VENV)/.made ## Render docs/ and the header as a site, dist/site/index.html
	@rm -rf $(DIST)/site $(SITE_TREE) && mkdir -p $(SITE_TREE)
	@cp -r docs $(SITE_TREE)/ && cp docs/site/*.rst $(SITE_TREE)/docs/
	@ln -s $(filter-out $(abspath docs $(DIST)),$(wildcard $(CURDIR)/*)) $(SITE_TREE)/
	@go run ./capi/gen -reference include/qtsaccel.h $(SITE_TREE)/docs/reference
	@$(SITE_VENV)/bin/sphinx-build -q -j auto -W --keep-going -c docs/site -d $(SITE_TREE)/doctrees $(SITE_TREE)/docs $(DIST)/site

# --------------------------------------------------------------------- Checking

TOOLS := $(abspath $(DIST))/tools
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)
GOFUMPT := $(TOOLS)/gofumpt-$(GOFUMPT_VERSION)
CLANG_FORMAT := $(abspath $(VENV))/bin/clang-format

# Runs a command over files of the tree, tracked or new and not ignored, that no
# generator wrote: $(call over,patterns,command). (What grep's status says of -L differs
# by version; xargs makes 123 of it.)
over = git ls-files -z --cached --others --exclude-standard --deduplicate -- $(1) | \
  { xargs -0 grep -sLE '^(//|/\*) Code generated .* DO NOT EDIT' || test $$? = 123; } | tr '\n' '\0' | xargs -0 $(2)
GO_FILES := '*.go'
C_FILES := '*.c' '*.h' '*.cpp' '*.hpp'

# Installed under their versions, so that a moved pin is noticed. They need no C
# compiler, and nothing of this module's.
$(GOLANGCI_LINT):
	@$(call gotool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION),golangci-lint,$@)
$(GOFUMPT):
	@$(call gotool,mvdan.cc/gofumpt@$(GOFUMPT_VERSION),gofumpt,$@)
gotool = echo 'building $(1)' && mkdir -p $(TOOLS) && GOFLAGS= CGO_ENABLED=0 GOBIN=$(TOOLS) go install -trimpath $(1) && mv $(TOOLS)/$(2) $(3)

##@ Checking

.PHONY: check
check: fmt-check lint generated test-go ## All that should pass before a commit

# Packages that are built and tested without cgo.
PURE_GO := ./core/... ./backends/reference/... ./backends/backendtest/... ./build/...

# Python, from bindings/python, whose settings hold.
PYTHON_TREES := . ../../examples/python ../../tests/python ../../bench/python ../../docs/site ../../tests/docs
RUFF := cd bindings/python && $(abspath $(VENV))/bin/ruff

.PHONY: lint lint-go lint-python
lint: lint-go lint-python ## Look for mistakes in Go and Python
# (What another copy of the tree compiled, and this one took from Go's cache, names
# cgo's files by that one's paths. Then cgo's calls are not checked here.)
lint-go: ggml $(GOLANGCI_LINT)
	@cgo="$$(go list -f '{{range .CgoFiles}}{{$$.Dir}}/{{.}} {{end}}' $(PURE_GO) | tr -d '\n')"; \
	test -z "$$cgo" || { echo "these must do without cgo: $$cgo"; exit 1; }
	@said="$$(go vet -cgocall ./backends/... ./capi/... 2>&1)" || case "$$said" in \
	  *"can't parse raw cgo file"*) echo 'go vet -cgocall is left out: another copy of the tree compiled what it looks at' ;; *) echo "$$said"; exit 1 ;; esac
	@$(GOLANGCI_LINT) run --allow-parallel-runners
lint-python: $(VENV_STAMP)
	@$(RUFF) check -q $(PYTHON_TREES)
	@cd bindings/python && $(abspath $(VENV))/bin/mypy qtsaccel

# macOS's C headers come with Zig. What is linked, and Apple's frameworks, they do not
# reach.
ZIG := $(TOOLS)/zig-$(ZIG_VERSION)/bin/python -m ziglang
$(TOOLS)/zig-$(ZIG_VERSION):
	@$(PYTHON) -m venv $@.new && $@.new/bin/pip install -q --disable-pip-version-check ziglang==$(ZIG_VERSION) && mv $@.new $@

.PHONY: vet-darwin
vet-darwin: ggml $(TOOLS)/zig-$(ZIG_VERSION) ## Compile for macOS on arm64 all that is linked there, and vet it
	@GOOS=darwin GOARCH=arm64 CGO_ENABLED=1 CC='$(ZIG) cc -target aarch64-macos' CXX='$(ZIG) c++ -target aarch64-macos' \
	  go vet ./...

.PHONY: fmt
fmt: $(GOFUMPT) $(VENV_STAMP) ## Format Go, C, C++ and Python
	@$(call over,$(GO_FILES),$(GOFUMPT) -w)
	@$(call over,$(C_FILES),$(CLANG_FORMAT) -i)
	@$(RUFF) format -q $(PYTHON_TREES)

.PHONY: fmt-check
fmt-check: $(GOFUMPT) $(VENV_STAMP)
	@bad="$$($(call over,$(GO_FILES),$(GOFUMPT) -l))"; test -z "$$bad" || { echo "not formatted (make fmt):"; echo "$$bad"; exit 1; }
	@$(call over,$(C_FILES),$(CLANG_FORMAT) --dry-run -Werror)
	@$(RUFF) format -q --check $(PYTHON_TREES)

# Generated files are committed; making them again must change nothing.
.PHONY: generated
generated: ggml
	@before="$$(git diff | git hash-object --stdin)"; go generate ./...; \
	test "$$before" = "$$(git diff | git hash-object --stdin)" || { echo 'generators changed files: commit what they make'; git diff --stat; exit 1; }

.PHONY: abi
abi: ggml ## Record what compiled programs rely on, in include/qtsaccel.abi
	@go run ./capi/gen -abi include/qtsaccel.h >$(DIST)/qtsaccel.abi && cp $(DIST)/qtsaccel.abi include/

##@ Other

.PHONY: clean
clean: ## Remove what was built; downloads, tools and the Debian root stay (dist/ can go whole)
	@find $(DIST) -mindepth 1 -maxdepth 1 ! -name download ! -name tools ! -name 'trixie*' -exec rm -rf {} + 2>/dev/null || true

.PHONY: help
help: ## Show this
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile
