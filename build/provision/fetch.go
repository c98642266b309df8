package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
)

// fetched is a package of which some files are used as they are.
type fetched struct {
	result  string // folder, from dist/
	licence string // from dist/; may be empty
	// file says where in the result a file of the package goes, "" nowhere.
	file func(name string) string
}

// licenceName is what packages call the file that becomes the licence.
const licenceName = "package/LICENSE"

// esrganFiles are the weights for each scale: x2/model.json names what is in
// x2/group1-shard1of1.bin.
func esrganFiles(platform) (fetched, error) {
	return fetched{
		result:  "esrgan",
		licence: "licenses/esrgan-slim.txt",
		file: func(name string) string {
			rest, ok := strings.CutPrefix(name, "package/models/")
			if !ok {
				return ""
			}
			return rest
		},
	}, nil
}

// onnxRuntimeFiles is the shared library for a platform.
func onnxRuntimeFiles(host platform) (fetched, error) {
	arch, ok := map[string]string{"amd64": "x64", "arm64": "arm64"}[host.arch]
	if !ok || host == (platform{"darwin", "amd64"}) {
		return fetched{}, fmt.Errorf("no ONNX Runtime for %s in the package", host)
	}
	dir := fmt.Sprintf("package/bin/napi-v6/%s/%s/", host.os, arch)
	return fetched{
		result: "onnxruntime", // not shipped, and the package has no licence file
		file: func(name string) string {
			if strings.HasPrefix(name, dir) && strings.HasPrefix(path.Base(name), "libonnxruntime.") {
				return path.Base(name)
			}
			return ""
		},
	}, nil
}

// fetchWhat returns the function that provides the files of a pinned package.
func fetchWhat(pin string, files func(platform) (fetched, error)) func(context.Context, *project) error {
	return func(ctx context.Context, p *project) error {
		f, err := files(p.host)
		if err != nil {
			return err
		}
		return p.fetch(ctx, pin, f)
	}
}

// fetch provides the files of the package pinned under a prefix.
func (p *project) fetch(ctx context.Context, pin string, f fetched) (err error) {
	pkg, err := p.pins.npm(pin)
	if err != nil {
		return err
	}
	st := newStamp(f.result+".stamp", pkg.hash, p.host.String())
	if st.current(p) {
		return nil
	}
	tgz, err := p.download(ctx, pkg)
	if err != nil {
		return err
	}
	s, err := p.newStage()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()

	results := []string{f.result}
	if err := unpackTgz(tgz, s.path(), func(name string) string {
		if name == licenceName && f.licence != "" {
			results = append(results, f.licence)
			return f.licence
		}
		if file := f.file(name); file != "" {
			return path.Join(f.result, file)
		}
		return ""
	}); err != nil {
		return err
	}
	if err := st.clear(p); err != nil {
		return err
	}
	if err := s.install(results...); err != nil {
		return err
	}
	return st.write(p, results...)
}

// provisionOtherGGML provides ggml's libraries under their own names, as another
// part of a process might bring them: other-ggml/older is of another version than
// ours, other-ggml/same is what ours were renamed from.
func provisionOtherGGML(ctx context.Context, p *project) error {
	if p.host != (platform{"linux", "amd64"}) {
		return fmt.Errorf("pinned for linux/amd64 only, and this is %s", p.host)
	}
	for dir, pin := range map[string]string{"older": "OTHER_GGML", "same": p.host.pinPrefix()} {
		if err := p.fetch(ctx, pin, fetched{result: "other-ggml/" + dir, file: p.prebuiltLibrary}); err != nil {
			return err
		}
	}
	return nil
}
