package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ggmlRoute is one way to come by ggml's headers and libraries.
type ggmlRoute struct {
	name    string   // for people
	version string   // of ggml
	from    []string // everything that the result depends on
	// fill puts headers, libraries and licence into a stage.
	fill func(context.Context, *stage) error
}

// ggmlStamp is where the stamp of ggml lies.
const ggmlStamp = "ggml/STAMP"

// provisionGGML provides ggml by the route that the environment chooses.
func provisionGGML(ctx context.Context, p *project) error {
	route, err := p.chooseRoute(ctx)
	if err != nil {
		return err
	}
	return p.provisionRoute(ctx, route)
}

func (p *project) chooseRoute(_ context.Context) (ggmlRoute, error) {
	switch v := p.env("GGML"); v {
	case "", "prebuilt":
		return p.prebuiltRoute()
	default:
		return ggmlRoute{}, fmt.Errorf("GGML=%s: known are prebuilt (the default) and system", v)
	}
}

// provisionRoute makes a route's results, unless they are there.
func (p *project) provisionRoute(ctx context.Context, r ggmlRoute) (err error) {
	st := newStamp(ggmlStamp, append([]string{r.name, r.version, p.host.String(), renameVersion}, r.from...)...)
	if st.current(p) {
		return nil
	}
	p.say("providing ggml %s: %s", r.version, r.name)
	s, err := p.newStage()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	if err := r.fill(ctx, s); err != nil {
		return err
	}
	if err := p.writeVersion(s, r); err != nil {
		return err
	}
	if err := st.clear(p); err != nil {
		return err
	}
	results := []string{includeDir, libraryDir, licenceFile, versionFile}
	if err := s.install(results...); err != nil {
		return err
	}
	return st.write(p, results...)
}

// writeVersion tells, for people, what was provided.
func (p *project) writeVersion(s *stage, r ggmlRoute) error {
	libs, err := os.ReadDir(s.path(libraryDir))
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "version: %s\nroute: %s\nplatform: %s\nfiles:\n", r.version, r.name, p.host)
	base := false
	for _, l := range libs {
		fmt.Fprintf(&b, "  %s\n", l.Name())
		base = base || strings.HasPrefix(l.Name(), "libqtsg-base.") || strings.HasPrefix(l.Name(), "libggml-base.")
	}
	if !base || len(libs) < 2 {
		return fmt.Errorf("%s provided only %d libraries; the base and a backend are needed", r.name, len(libs))
	}
	return os.WriteFile(s.path(versionFile), []byte(b.String()), 0o644)
}

// prebuiltRoute takes upstream's libraries from an npm package.
func (p *project) prebuiltRoute() (ggmlRoute, error) {
	pkg, err := p.pins.npm(p.host.pinPrefix())
	if err != nil {
		return ggmlRoute{}, fmt.Errorf("no prebuilt ggml for %s: use an installed one (GGML=system or GGML_DIR=<prefix>), or build it (make ggml-source)", p.host)
	}
	source, err := p.pins.npm("GGML_SOURCE")
	if err != nil {
		return ggmlRoute{}, err
	}
	version, err := p.pins.get("GGML_VERSION")
	if err != nil {
		return ggmlRoute{}, err
	}
	return ggmlRoute{
		name:    "prebuilt " + pkg.spec,
		version: version,
		from:    []string{pkg.hash, source.hash},
		fill: func(ctx context.Context, s *stage) error {
			if err := p.unpackHeaders(ctx, s); err != nil {
				return err
			}
			return p.unpackPrebuilt(ctx, s, pkg)
		},
	}, nil
}

// unpackPrebuilt puts the libraries of a package into a stage, renamed.
func (p *project) unpackPrebuilt(ctx context.Context, s *stage, pkg npmPackage) error {
	tgz, err := p.download(ctx, pkg)
	if err != nil {
		return err
	}
	const raw = "prebuilt"
	err = unpackTgz(tgz, s.path(raw), func(name string) string {
		base := filepath.Base(name)
		if strings.HasPrefix(base, "libggml-") && slices.Contains(p.host.librarySuffixes(), filepath.Ext(base)) {
			return base
		}
		return ""
	})
	if err != nil {
		return err
	}
	libs, err := os.ReadDir(s.path(raw))
	if err != nil {
		return err
	}
	for _, l := range libs {
		if _, err := p.installLibrary(s, s.path(raw, l.Name()), l.Name()); err != nil {
			return err
		}
	}
	return nil
}
