package metadata

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValues(t *testing.T) {
	for _, c := range []struct {
		v          Value
		kind, text string
		whole      bool
	}{
		{Text(`a"b`), "string", `a"b`, false},
		{Int(0), "u32", "0", true},
		{Int(1<<32 - 1), "u32", "4294967295", true},
		{Int(1 << 32), "i64", "4294967296", true},
		{Int(-1 << 31), "i32", "-2147483648", true},
		{Int(-1<<31 - 1), "i64", "-2147483649", true},
		{Float(0.1), "f32", "0.1", false},
		{Ints(nil), "array", "[]", false},
		{Ints([]int64{1, -1 << 31}), "array", "[1,-2147483648]", false},
		{Ints([]int64{1 << 31}), "array", "[2147483648]", false},
		{Floats([]float64{1.5}), "array", "[1.5]", false},
	} {
		require.Equal(t, c.kind, c.v.Kind().String())
		require.Equal(t, c.text, c.v.String())
		_, whole := c.v.Int()
		require.Equal(t, c.whole, whole, c.text)
	}
	_, whole := Value{KindU64, []byte{255, 255, 255, 255, 255, 255, 255, 255}}.Int()
	require.False(t, whole, "2^64-1 is no int64")
	require.Equal(t, "i8", Encoded(KindI8, []byte{1}).Kind().String())
	require.Equal(t, "none", Value{}.String())
}
