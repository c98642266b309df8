package backendtest

import (
	"testing"

	"qtsaccel/core/backend"
)

func runSequences(t *testing.T, b backend.Backend) {}
