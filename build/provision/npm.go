package main

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// npmTimeout bounds one download; npm itself retries for long when offline.
const npmTimeout = 15 * time.Minute

// download returns the path of a package's tarball, fetched if it is not there,
// and verified in any case.
func (p *project) download(ctx context.Context, pkg npmPackage) (string, error) {
	path := p.dist("download", pkg.file())
	if _, err := os.Stat(path); err == nil {
		return path, verifyIntegrity(path, pkg.hash)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(path), npmTemp)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)

	p.say("fetching %s", pkg.spec)
	if err := npmPack(ctx, pkg.spec, tmp); err != nil {
		return "", fmt.Errorf("fetching %s from the npm registry: %w\na copy of its tarball put at %s would be used instead", pkg.spec, err, path)
	}
	packed := filepath.Join(tmp, pkg.file())
	if err := verifyIntegrity(packed, pkg.hash); err != nil {
		return "", err
	}
	return path, os.Rename(packed, path)
}

// npmPack runs npm pack into a folder. Its words are shown only if it fails.
func npmPack(ctx context.Context, spec, dir string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("npm is not installed")
	}
	ctx, cancel := context.WithTimeout(ctx, npmTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "pack", spec, "--pack-destination", dir, "--ignore-scripts", "--silent", "--loglevel=error", "--fetch-retries=2", "--fetch-retry-maxtimeout=10000")
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("npm pack: %w\n%s", err, firstLines(out.String(), 4))
	}
	return nil
}

// firstLines cuts what npm says after the cause.
func firstLines(text string, n int) string {
	lines := strings.SplitN(strings.TrimSpace(text), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// verifyIntegrity compares a file with an integrity string as npm writes it.
func verifyIntegrity(path, want string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha512.New()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if got := "sha512-" + base64.StdEncoding.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%s is not the file that %s pins\n  want %s\n  got  %s\nremove it to fetch it again", path, pinFile, want, got)
	}
	return nil
}
