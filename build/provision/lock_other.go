//go:build !unix

package main

import "os"

// lockFile does nothing where there is no flock: runs side by side are then on
// their own.
func lockFile(*os.File) error { return nil }
