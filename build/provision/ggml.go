package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// ggmlRoute is one way to come by ggml's headers and libraries.
type ggmlRoute struct {
	name    string   // for people
	version string   // of ggml
	from    []string // everything else that the result depends on
	// fill puts headers, libraries and licence into a stage.
	fill func(context.Context, *stage) error
}

// Stamps of ggml: of the route, and of what ggml-source put over its result.
const (
	ggmlStamp    = "ggml/STAMP"
	overlayStamp = "ggml/STAMP-SOURCE"
)

// ggmlResults are the results of a route, from dist/.
var ggmlResults = []string{includeDir, libraryDir, licenceFile, versionFile}

// provisionGGML provides ggml by the route that the environment chooses.
func provisionGGML(ctx context.Context, p *project) error {
	if p.env("GGML") == "prebuilt" {
		// Asked for by name, it undoes what ggml-source put over it.
		if _, err := os.Stat(p.dist(overlayStamp)); err == nil {
			if err := (stamp{path: ggmlStamp}).clear(p); err != nil {
				return err
			}
		}
	}
	route, err := p.chooseRoute(ctx)
	if err != nil {
		return err
	}
	return p.provisionRoute(ctx, route)
}

func (p *project) chooseRoute(ctx context.Context) (ggmlRoute, error) {
	dir, route := p.env("GGML_DIR"), p.env("GGML")
	switch {
	case dir != "" && route != "" && route != "system":
		return ggmlRoute{}, fmt.Errorf("GGML=%s and GGML_DIR=%s contradict each other", route, dir)
	case dir != "" || route == "system":
		return p.systemRoute(ctx, dir)
	case route == "" || route == "prebuilt":
		return p.prebuiltRoute()
	case route == "source":
		return p.sourceRoute()
	default:
		return ggmlRoute{}, fmt.Errorf("GGML=%s: known are prebuilt (the default), system and source", route)
	}
}

// stamp returns the route's stamp on this platform.
func (r ggmlRoute) stamp(host platform) stamp {
	return newStamp(ggmlStamp, append([]string{r.name, r.version, host.String(), renameVersion}, r.from...)...)
}

// provisionRoute makes a route's results, unless they are there.
func (p *project) provisionRoute(ctx context.Context, r ggmlRoute) (err error) {
	st := r.stamp(p.host)
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
	if err := s.checkLinks(); err != nil {
		return err
	}
	if err := s.writeVersion(r.version, r.name); err != nil {
		return err
	}
	if err := errors.Join(st.clear(p), stamp{path: overlayStamp}.clear(p)); err != nil {
		return err
	}
	if err := s.install(ggmlResults...); err != nil {
		return err
	}
	return st.write(p, ggmlResults...)
}

// writeVersion tells, for people, what was provided.
func (s *stage) writeVersion(version, route string) error {
	libs, err := os.ReadDir(s.path(libraryDir))
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "version: %s\nroute: %s\nplatform: %s\nfiles:\n", version, route, s.p.host)
	for _, l := range libs {
		fmt.Fprintf(&b, "  %s\n", l.Name())
	}
	if n := countBase(libs); n == 0 || n == len(libs) {
		return fmt.Errorf("%s gave %d libraries, %d of them ggml's base; the base and a backend are needed", route, len(libs), n)
	}
	return os.WriteFile(s.path(versionFile), []byte(b.String()), 0o644)
}

// countBase counts the names that ggml's base library has in a folder.
func countBase(libs []fs.DirEntry) int {
	n := 0
	for _, l := range libs {
		if strings.HasPrefix(l.Name(), "libqtsg-base.") || strings.HasPrefix(l.Name(), "libggml-base.") {
			n++
		}
	}
	return n
}
