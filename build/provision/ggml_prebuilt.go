package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
)

// prebuiltRoute takes upstream's libraries from an npm package.
func (p *project) prebuiltRoute() (ggmlRoute, error) {
	pkg, err := p.pins.npm(p.host.pinPrefix())
	if err != nil {
		return ggmlRoute{}, fmt.Errorf("no prebuilt ggml for %s: use an installed one (GGML=system or GGML_DIR=<prefix>) or build it (GGML=source)", p.host)
	}
	source, err := p.pins.ggmlSource(p.host)
	if err != nil {
		return ggmlRoute{}, err
	}
	version, err := p.pins.ggmlVersion(p.host)
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
	raw := s.path("prebuilt")
	if err := unpackTgz(tgz, raw, p.prebuiltLibrary); err != nil {
		return err
	}
	libs, err := os.ReadDir(raw)
	if err != nil {
		return err
	}
	for _, l := range libs {
		if err := s.installLibrary(s.path("prebuilt", l.Name())); err != nil {
			return err
		}
	}
	return nil
}

// prebuiltLibrary picks the base and the backends from a prebuilt package. Not
// libggml itself: it only finds and loads backends, which we do ourselves.
func (p *project) prebuiltLibrary(name string) string {
	base := path.Base(name)
	if strings.HasPrefix(base, "libggml-") && slices.Contains(p.host.librarySuffixes(), path.Ext(base)) {
		return base
	}
	return ""
}
