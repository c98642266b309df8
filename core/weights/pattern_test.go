package weights

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true},
		{"a", "ab", false},
		{"ab", "a", false},
		{"*", "", true},
		{"*", "x/y.z", true},
		{"?", "", false},
		{"?", "x", true},
		{"??", "x", false},
		{"a*c", "abbc", true},
		{"a*c", "abcd", false},
		{"*.weight", "blk.0.weight", true},
		{"*.weight", "blk.0.weights", false},
		{"blk.*.ffn_*.weight", "blk.11.ffn_down.weight", true},
		{"blk.*.ffn_*.weight", "blk.11.attn_q.weight", false},
		{"*a*b*", "xxaxxbxx", true},
		{"*a*b*", "xxbxxaxx", false},
		{"a**", "a", true},
		{"*?", "", false},
		{"[a]", "a", false},
		{"*aab", "aaaab", true},
		{"x*y?z", "xyyzyaz", true},
	} {
		_, ok := Match(c.pattern, c.name)
		require.Equal(t, c.want, ok, "%q on %q", c.pattern, c.name)
	}
}
