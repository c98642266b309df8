package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// lock waits until no other run works on dist/, and clears away what runs that were
// killed had begun there.
func (p *project) lock() (unlock func(), err error) {
	if err := os.MkdirAll(p.dist(), 0o755); err != nil {
		return nil, err
	}
	dir, err := os.Open(p.dist())
	if err != nil {
		return nil, err
	}
	if err := lockFile(dir); err != nil {
		dir.Close()
		return nil, fmt.Errorf("locking %s: %w", p.dist(), err)
	}
	for _, pattern := range temporary {
		left, err := filepath.Glob(p.dist(pattern + "*"))
		if err != nil {
			return nil, err
		}
		for _, path := range left {
			if err := os.RemoveAll(path); err != nil {
				return nil, err
			}
		}
	}
	return func() { dir.Close() }, nil
}

// Names, up to their random part, of folders that last no longer than a run.
const (
	stageTemp   = ".stage-"
	sourceTemp  = ".source-"
	headersTemp = ".headers-"
	npmTemp     = ".npm-"
)

var temporary = []string{stageTemp, sourceTemp, headersTemp, "download/" + npmTemp}
