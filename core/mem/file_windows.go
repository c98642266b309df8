package mem

import (
	"qtsaccel/core/osfile"
	"qtsaccel/core/status"
)

// CanMapFiles says whether [MapFile] works on this system.
const CanMapFiles = false

// MapFile is not there yet: UNSUPPORTED.
func MapFile(*osfile.File, int64) ([]byte, error) {
	return nil, status.Errorf(status.Unsupported, "files cannot be mapped on Windows")
}
