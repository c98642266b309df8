include build/versions.mk

.PHONY: ggml
ggml:
	@CGO_ENABLED=0 go run ./build/provision ggml
