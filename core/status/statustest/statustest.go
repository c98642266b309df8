// Package statustest holds errors to the status and the words that they should have.
package statustest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
)

// Require fails the test unless err has the status and all the words.
func Require(t testing.TB, code status.Code, err error, words ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, status.Of(err), err.Error())
	for _, w := range words {
		require.Contains(t, err.Error(), w)
	}
}
