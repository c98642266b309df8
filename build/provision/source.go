package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// unpackSource extracts the parts of the pinned ggml source that are named, as
// they lie in the upstream tree, into dir.
func (p *project) unpackSource(ctx context.Context, dir string, parts ...string) (err error) {
	pkg, err := p.pins.ggmlSource(p.host)
	if err != nil {
		return err
	}
	tgz, err := p.download(ctx, pkg)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(p.dist(), sourceTemp)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()

	const bundle = "gitRelease.bundle"
	if err := unpackTgz(tgz, tmp, func(name string) string {
		if name == "package/llama/"+bundle {
			return bundle
		}
		return ""
	}); err != nil {
		return err
	}
	if err := command(ctx, tmp, "git", "clone", "--quiet", "--bare", bundle, "git"); err != nil {
		return err
	}

	// Versions are checked before anything is made of the source.
	cmake, err := output(ctx, filepath.Join(tmp, "git"), "git", "show", "HEAD:ggml/CMakeLists.txt")
	if err != nil {
		return err
	}
	want, err := p.pins.ggmlVersion(p.host)
	if err != nil {
		return err
	}
	if got := cmakeVersion(cmake); got != want {
		return fmt.Errorf("the source in %s is ggml %q, but %s pins %s", pkg.spec, got, pinFile, want)
	}

	args := append([]string{"archive", "--format=tar", "HEAD", "--"}, parts...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = filepath.Join(tmp, "git")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git archive: %w", err)
	}
	unpackErr := unpackTar(out, dir, func(name string) string { return name })
	if err := errors.Join(unpackErr, cmd.Wait()); err != nil {
		return fmt.Errorf("git archive of %s: %w", strings.Join(parts, ", "), err)
	}
	return nil
}

var cmakeVersionLine = regexp.MustCompile(`(?m)^\s*set\(GGML_VERSION_(MAJOR|MINOR|PATCH)\s+(\d+)\)`)

// cmakeVersion returns the version that ggml's CMakeLists.txt sets.
func cmakeVersion(text string) string {
	part := make(map[string]string)
	for _, m := range cmakeVersionLine.FindAllStringSubmatch(text, -1) {
		part[m[1]] = m[2]
	}
	return part["MAJOR"] + "." + part["MINOR"] + "." + part["PATCH"]
}

// unpackHeaders puts the pinned version's headers and licence into a stage.
func (p *project) unpackHeaders(ctx context.Context, s *stage) (err error) {
	tmp, err := os.MkdirTemp(p.dist(), headersTemp)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := p.unpackSource(ctx, tmp, "LICENSE", "ggml/include"); err != nil {
		return err
	}
	headers, err := filepath.Glob(filepath.Join(tmp, "ggml", "include", "*.h"))
	if err != nil {
		return err
	}
	for _, h := range headers {
		if err := os.Rename(h, s.path(includeDir, path.Base(h))); err != nil {
			return err
		}
	}
	return os.Rename(filepath.Join(tmp, "LICENSE"), s.path(licenceFile))
}

// command runs a program whose output is only of interest if it fails.
func command(ctx context.Context, dir, name string, args ...string) error {
	_, err := output(ctx, dir, name, args...)
	return err
}

// output runs a program and returns what it wrote to stdout.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var errText strings.Builder
	cmd.Stderr = &errText
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(errText.String()))
	}
	return string(out), nil
}
