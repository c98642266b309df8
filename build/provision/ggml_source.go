package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Where ggml is built from source, from dist/.
const (
	sourceDir   = "build/ggml-source"
	sourceStamp = "build/ggml-source.stamp"
	buildDir    = "build/ggml"
)

// sourceOptions are what a build from source is asked for.
type sourceOptions struct {
	cuda      bool
	cudaArchs string // as CMake takes them; empty leaves the choice to ggml
	vulkan    bool
	cpu       bool
}

func (p *project) sourceOptions() (sourceOptions, error) {
	o := sourceOptions{cudaArchs: p.env("CUDA_ARCHS")}
	for _, f := range []struct {
		name string
		flag *bool
	}{{"GGML_CUDA", &o.cuda}, {"GGML_VULKAN", &o.vulkan}, {"GGML_CPU", &o.cpu}} {
		switch v := strings.ToLower(p.env(f.name)); v {
		case "", "0", "off", "no":
		case "1", "on", "yes":
			*f.flag = true
		default:
			return o, fmt.Errorf("%s=%s: 1 or 0 is meant", f.name, v)
		}
	}
	if strings.Trim(o.cudaArchs, "0123456789abcdefghijklmnopqrstuvwxyz-;") != "" {
		return o, fmt.Errorf("CUDA_ARCHS=%s: architectures as CMake takes them are meant, such as 90 or 80;90", o.cudaArchs)
	}
	if o.cudaArchs != "" && !o.cuda {
		return o, errors.New("CUDA_ARCHS says nothing without GGML_CUDA=1")
	}
	o.cpu = o.cpu || !o.cuda && !o.vulkan
	return o, nil
}

func (o sourceOptions) String() string {
	var parts []string
	if o.cpu {
		parts = append(parts, "CPU "+runtime.GOARCH+" native")
	}
	if o.cuda {
		parts = append(parts, strings.TrimSpace("CUDA "+o.cudaArchs))
	}
	if o.vulkan {
		parts = append(parts, "Vulkan")
	}
	return strings.Join(parts, ", ")
}

// cmake returns the arguments that configure a build.
func (o sourceOptions) cmake() []string {
	on := map[bool]string{true: "ON", false: "OFF"}
	native := "-march=native"
	if runtime.GOARCH == "arm64" {
		native = "-mcpu=native" // the one that Apple's compiler knows
	}
	args := []string{
		"-DCMAKE_BUILD_TYPE=Release",
		"-DBUILD_SHARED_LIBS=ON",
		"-DGGML_BACKEND_DL=ON", // each backend loads on its own
		// ggml has no native build of a loadable backend, but goes by what the
		// compiler says is there.
		"-DGGML_NATIVE=OFF",
		"-DGGML_SSE42=OFF", "-DGGML_AVX=OFF", "-DGGML_AVX2=OFF", "-DGGML_BMI2=OFF", "-DGGML_FMA=OFF", "-DGGML_F16C=OFF",
		"-DCMAKE_C_FLAGS=" + native,
		"-DCMAKE_CXX_FLAGS=" + native,
		"-DGGML_LLAMAFILE=ON", // fast matrix products, as in the prebuilt
		// OpenMP's threads would take the place of the thread pool that a
		// backend keeps.
		"-DGGML_OPENMP=OFF",
		"-DGGML_CCACHE=OFF",
		"-DGGML_BUILD_TESTS=OFF",
		"-DGGML_BUILD_EXAMPLES=OFF",
		"-DGGML_CPU=" + on[o.cpu],
		"-DGGML_CUDA=" + on[o.cuda],
		"-DGGML_CUDA_GRAPHS=ON", // off by default in a build of ggml alone
		"-DGGML_VULKAN=" + on[o.vulkan],
	}
	if o.cudaArchs != "" {
		args = append(args, "-DCMAKE_CUDA_ARCHITECTURES="+o.cudaArchs)
	}
	return args
}

// sourceRoute builds everything from source.
func (p *project) sourceRoute() (ggmlRoute, error) {
	o, err := p.sourceOptions()
	if err != nil {
		return ggmlRoute{}, err
	}
	o.cpu = true
	source, err := p.pins.ggmlSource(p.host)
	if err != nil {
		return ggmlRoute{}, err
	}
	version, err := p.pins.ggmlVersion(p.host)
	if err != nil {
		return ggmlRoute{}, err
	}
	return ggmlRoute{
		name:    "built from source: " + o.String(),
		version: version,
		from:    append([]string{source.hash}, o.cmake()...),
		fill: func(ctx context.Context, s *stage) error {
			if err := p.unpackHeaders(ctx, s); err != nil {
				return err
			}
			libs, err := p.buildSource(ctx, o)
			if err != nil {
				return err
			}
			for _, lib := range libs {
				if err := s.installLibrary(lib); err != nil {
					return err
				}
			}
			return nil
		},
	}, nil
}

// provisionGGMLSource puts backends built from source over the prebuilt ones,
// whose base of the same version they run on; where there is no prebuilt ggml,
// everything is built.
func provisionGGMLSource(ctx context.Context, p *project) (err error) {
	prebuilt, err := p.prebuiltRoute()
	if err != nil || p.env("GGML") == "source" {
		route, err := p.sourceRoute()
		if err != nil {
			return err
		}
		return p.provisionRoute(ctx, route)
	}
	if route, dir := p.env("GGML"), p.env("GGML_DIR"); dir != "" || (route != "" && route != "prebuilt") {
		return errors.New("an installed ggml (GGML=system or GGML_DIR) cannot be mixed with the pinned source")
	}
	o, err := p.sourceOptions()
	if err != nil {
		return err
	}
	if err := p.provisionRoute(ctx, prebuilt); err != nil {
		return err
	}
	main := prebuilt.stamp(p.host)
	st := newStamp(overlayStamp, append([]string{main.key}, o.cmake()...)...)
	if st.current(p) {
		return nil
	}

	p.say("building ggml %s from source: %s", prebuilt.version, o)
	libs, err := p.buildSource(ctx, o)
	if err != nil {
		return err
	}
	s, err := p.newStage()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	if err := s.overlay(libs, o); err != nil {
		return err
	}
	if err := s.checkLinks(); err != nil {
		return err
	}
	if err := s.writeVersion(prebuilt.version, prebuilt.name+", with "+o.String()+" built from source"); err != nil {
		return err
	}
	if err := errors.Join(main.clear(p), st.clear(p)); err != nil {
		return err
	}
	if err := s.install(libraryDir, versionFile); err != nil {
		return err
	}
	return errors.Join(st.write(p, libraryDir, versionFile), main.write(p, ggmlResults...))
}

// overlay fills a stage with the libraries in place and those that were built. A
// CPU backend made for this machine takes the place of the prebuilt ones for each
// kind of machine: it has no score to be compared by.
func (s *stage) overlay(built []string, o sourceOptions) error {
	old, err := os.ReadDir(s.p.dist(libraryDir))
	if err != nil {
		return err
	}
	for _, l := range old {
		if o.cpu && strings.Contains(l.Name(), "-cpu") {
			continue
		}
		if err := os.Link(s.p.dist(libraryDir, l.Name()), s.path(libraryDir, l.Name())); err != nil {
			return err
		}
	}
	for _, lib := range built {
		if strings.HasPrefix(filepath.Base(lib), "libggml-base.") {
			continue
		}
		if err := s.installLibrary(lib); err != nil {
			return err
		}
	}
	return nil
}

// buildSource runs CMake and returns the libraries that were asked for.
func (p *project) buildSource(ctx context.Context, o sourceOptions) ([]string, error) {
	if _, err := exec.LookPath("cmake"); err != nil {
		return nil, errors.New("cmake is not installed; building ggml from source needs it")
	}
	if o.vulkan {
		if err := checkGLSLC(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.provideSource(ctx); err != nil {
		return nil, err
	}
	// Where ggml's CMake insists on putting backends.
	out := p.dist(buildDir, "bin")
	if err := os.RemoveAll(out); err != nil { // what an earlier build was asked for
		return nil, err
	}
	configure := append([]string{
		"-S", p.dist(sourceDir, "ggml"), "-B", p.dist(buildDir),
		"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=" + out,
	}, o.cmake()...)
	if err := p.loudly(ctx, "cmake", configure...); err != nil {
		return nil, err
	}
	if err := p.loudly(ctx, "cmake", "--build", p.dist(buildDir), "--parallel", fmt.Sprint(runtime.NumCPU())); err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(out, "libggml-*"))
	if err != nil {
		return nil, err
	}
	var libs []string
	made := make(map[string]bool)
	for _, lib := range found {
		// Of a library with a version in its name, take the link without.
		name := filepath.Base(lib)
		if name == unversioned(name) && slices.Contains(p.host.librarySuffixes(), filepath.Ext(name)) {
			libs = append(libs, lib)
			made[strings.TrimSuffix(name, filepath.Ext(name))] = true
		}
	}
	for name, asked := range map[string]bool{"base": true, "cpu": o.cpu, "cuda": o.cuda, "vulkan": o.vulkan} {
		if asked && !made["libggml-"+name] {
			return nil, fmt.Errorf("CMake made no libggml-%s in %s", name, out)
		}
	}
	return libs, nil
}

// A shader with what some of ggml's need unconditionally, though its CMake takes a
// compiler without for good enough, and fails minutes later.
const neededShader = `#version 460
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_KHR_cooperative_matrix : require
layout(local_size_x = 32) in;
void main() {}
`

// checkGLSLC sees that the compiler of Vulkan shaders is there and new enough.
func checkGLSLC(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "glslc", "-fshader-stage=compute", "--target-env=vulkan1.3", "-o", os.DevNull, "-")
	cmd.Stdin = strings.NewReader(neededShader)
	switch said, err := cmd.CombinedOutput(); {
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("glslc is not installed; building Vulkan's plugin needs it, in the form that Debian 13 or a current Vulkan SDK has")
	case err != nil:
		return fmt.Errorf("glslc does not compile what ggml's Vulkan shaders need; that of Debian 13 does, and that of a current Vulkan SDK: %s",
			strings.TrimSpace(string(said)))
	}
	return nil
}

// provideSource unpacks the pinned source, once.
func (p *project) provideSource(ctx context.Context) error {
	source, err := p.pins.ggmlSource(p.host)
	if err != nil {
		return err
	}
	st := newStamp(sourceStamp, source.hash)
	if st.current(p) {
		return nil
	}
	if err := errors.Join(st.clear(p), os.RemoveAll(p.dist(sourceDir)), os.MkdirAll(p.dist(sourceDir), 0o755)); err != nil {
		return err
	}
	if err := p.unpackSource(ctx, p.dist(sourceDir), "LICENSE", "ggml"); err != nil {
		return err
	}
	// The bundle leaves this template out, and CMake wants to fill it in.
	if err := os.WriteFile(p.dist(sourceDir, "ggml", "ggml.pc.in"), nil, 0o644); err != nil {
		return err
	}
	return st.write(p, sourceDir+"/ggml/CMakeLists.txt", sourceDir+"/ggml/ggml.pc.in")
}

// loudly runs a program that takes long, showing what it says.
func (p *project) loudly(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}
