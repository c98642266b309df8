package main

import (
	"fmt"
	"strings"
)

// pinFile is where the pins are, from the repository's root.
const pinFile = "build/versions.mk"

// pins are the keys of the pin file.
type pins map[string]string

// parsePins reads the part of make's language that the pin file keeps to:
// comments, blank lines and KEY = value.
func parsePins(text string) (pins, error) {
	p := make(pins)
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, " = ")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || key == "" || value == "" || strings.ContainsAny(key+value, " \t$#\\") {
			return nil, fmt.Errorf("line %d: %q is not KEY = value", i+1, line)
		}
		if _, twice := p[key]; twice {
			return nil, fmt.Errorf("line %d: %s is set twice", i+1, key)
		}
		p[key] = value
	}
	return p, nil
}

// get returns a pin that must be there.
func (p pins) get(key string) (string, error) {
	v, ok := p[key]
	if !ok {
		return "", fmt.Errorf("%s has no %s", pinFile, key)
	}
	return v, nil
}

// npmPackage is a package of the npm registry with its tarball's integrity.
type npmPackage struct {
	spec string // name@version
	hash string // sha512-<base64>
}

// ggmlVersion and ggmlSource are what a platform's prebuilt libraries were made
// from. A system whose packages lag behind has pins of its own.
func (p pins) ggmlVersion(host platform) (string, error) {
	if v, ok := p[host.systemPrefix()+"_VERSION"]; ok {
		return v, nil
	}
	return p.get("GGML_VERSION")
}

func (p pins) ggmlSource(host platform) (npmPackage, error) {
	if _, ok := p[host.systemPrefix()+"_SOURCE_NPM"]; ok {
		return p.npm(host.systemPrefix() + "_SOURCE")
	}
	return p.npm("GGML_SOURCE")
}

// npm returns the package pinned by <prefix>_NPM and <prefix>_HASH.
func (p pins) npm(prefix string) (npmPackage, error) {
	spec, err := p.get(prefix + "_NPM")
	if err != nil {
		return npmPackage{}, err
	}
	hash, err := p.get(prefix + "_HASH")
	if err != nil {
		return npmPackage{}, err
	}
	return npmPackage{spec, hash}, nil
}

// file is the name that npm pack gives the tarball.
func (n npmPackage) file() string {
	name := strings.TrimPrefix(n.spec, "@")
	return strings.NewReplacer("/", "-", "@", "-").Replace(name) + ".tgz"
}
