// Release adds to a staged installation what a tarball needs besides: the licences of
// all that it carries, a bill of materials in SPDX's form, and checksums.
//
//	release STAGE VERSION GGML_VERSION LIBRARY
//
// STAGE has bin/, include/ and lib/; what is compiled in is read off LIBRARY.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
)

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: release STAGE VERSION GGML_VERSION BINARY...")
		os.Exit(2)
	}
	if err := release(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// component is a part of the product that has a licence of its own.
type component struct {
	name, version, licence string // licence as SPDX names it
	text                   string // the file with its words
	where                  string // a package URL
}

func release(stage, version, ggml string, binaries []string) error {
	parts, err := components(version, ggml, binaries)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(stage, "licenses"), 0o755); err != nil {
		return err
	}
	for _, c := range parts {
		text, err := os.ReadFile(c.text)
		if err != nil {
			return fmt.Errorf("licence of %s: %w", c.name, err)
		}
		file := strings.ReplaceAll(c.name, "/", "_") + ".txt"
		if err := os.WriteFile(filepath.Join(stage, "licenses", file), text, 0o644); err != nil {
			return err
		}
	}
	sums, err := checksums(stage)
	if err != nil {
		return err
	}
	text, err := spdx(version, parts, sums)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(stage, "sbom.spdx.json"), text, 0o644); err != nil {
		return err
	}
	if sums, err = checksums(stage); err != nil {
		return err
	}
	var lines strings.Builder
	for _, s := range sums {
		fmt.Fprintf(&lines, "%s  %s\n", s.sha256, s.path)
	}
	return os.WriteFile(filepath.Join(stage, "SHA256SUMS"), []byte(lines.String()), 0o644)
}

// licences are those of the modules that library and tool are built with; one that is
// not here must be looked at before it is shipped.
var licences = map[string]string{
	"github.com/ebitengine/purego": "Apache-2.0",
	"github.com/spf13/cobra":       "Apache-2.0",
	"github.com/spf13/pflag":       "BSD-3-Clause",
}

// components are the product, ggml, and what is inside of Go binaries.
func components(version, ggml string, binaries []string) ([]component, error) {
	parts := []component{
		{"qtsaccel", version, "MIT", "LICENSE", ""},
		{"ggml", ggml, "MIT", "dist/licenses/ggml.txt", "pkg:github/ggml-org/ggml@v" + ggml},
	}
	modules := map[string]*debug.Module{}
	compiler := ""
	for _, b := range binaries {
		info, err := buildinfo.ReadFile(b)
		if err != nil {
			return nil, err
		}
		compiler = strings.TrimPrefix(info.GoVersion, "go")
		for _, m := range info.Deps {
			modules[m.Path] = m
		}
	}
	goroot, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	parts = append(parts, component{"go", compiler, "BSD-3-Clause", filepath.Join(goroot, "LICENSE"), "pkg:generic/go@" + compiler})
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		m := modules[path]
		licence, ok := licences[m.Path]
		if !ok {
			return nil, fmt.Errorf("the licence of %s is not known to this program", m.Path)
		}
		folder, err := output("go", "list", "-m", "-f", "{{.Dir}}", m.Path)
		if err != nil {
			return nil, err
		}
		texts, err := filepath.Glob(filepath.Join(folder, "LICENSE*"))
		if err != nil || len(texts) != 1 {
			return nil, fmt.Errorf("%s has %d files LICENSE*, not one", m.Path, len(texts))
		}
		parts = append(parts, component{m.Path, m.Version, licence, texts[0], "pkg:golang/" + m.Path + "@" + m.Version})
	}
	return parts, nil
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// sum is a file below the stage and its checksum.
type sum struct{ path, sha256 string }

func checksums(stage string) ([]sum, error) {
	var sums []sum
	err := filepath.WalkDir(stage, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return err
		}
		rel, err := filepath.Rel(stage, path)
		sums = append(sums, sum{filepath.ToSlash(rel), hex.EncodeToString(h.Sum(nil))})
		return err
	})
	sort.Slice(sums, func(i, j int) bool { return sums[i].path < sums[j].path })
	return sums, err
}

// spdx writes a bill of materials as SPDX 2.3 has it: the product, what it carries,
// and its files.
func spdx(version string, parts []component, sums []sum) ([]byte, error) {
	type object = map[string]any
	var packages, files, relations []object
	for i, c := range parts {
		id := fmt.Sprintf("SPDXRef-Package-%d", i)
		p := object{
			"SPDXID": id, "name": c.name, "versionInfo": c.version, "downloadLocation": "NOASSERTION",
			"filesAnalyzed": false, "licenseConcluded": c.licence, "licenseDeclared": c.licence,
			"copyrightText": "NOASSERTION",
		}
		if c.where != "" {
			p["externalRefs"] = []object{{
				"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": c.where,
			}}
		}
		packages = append(packages, p)
		relation := object{"spdxElementId": "SPDXRef-Package-0", "relationshipType": "CONTAINS", "relatedSpdxElement": id}
		if i == 0 {
			relation = object{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": id}
		}
		relations = append(relations, relation)
	}
	whole := sha256.New()
	for i, s := range sums {
		fmt.Fprintln(whole, s.sha256, s.path)
		id := fmt.Sprintf("SPDXRef-File-%d", i)
		files = append(files, object{
			"SPDXID": id, "fileName": "./" + s.path, "copyrightText": "NOASSERTION", "licenseConcluded": "NOASSERTION",
			"checksums": []object{{"algorithm": "SHA256", "checksumValue": s.sha256}},
		})
		relations = append(relations, object{"spdxElementId": "SPDXRef-Package-0", "relationshipType": "CONTAINS", "relatedSpdxElement": id})
	}
	return json.MarshalIndent(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
		"name": "qtsaccel-" + version,
		// The same content has the same name, whenever it is made.
		"documentNamespace": "https://spdx.org/spdxdocs/qtsaccel-" + version + "-" + hex.EncodeToString(whole.Sum(nil))[:32],
		"creationInfo":      object{"created": "1970-01-01T00:00:00Z", "creators": []string{"Tool: qtsaccel-build-release"}},
		"packages":          packages, "files": files, "relationships": relations,
	}, "", "  ")
}
