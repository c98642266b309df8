package tensor

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		t     Type
		bytes int64
	}{
		{Type{F32, Shape{}}, 4},
		{Type{F32, Shape{2, 3}}, 24},
		{Type{BF16, Shape{1, 2, 3, 4}}, 48},
		{Type{I64, Shape{5}}, 40},
		{Type{Q8_0, Shape{2, 64}}, 2 * 2 * 34},
		{Type{Q4_K, Shape{3, 512}}, 3 * 2 * 144},
		{Type{I64, Shape{1 << 30, 1 << 29}}, 1 << 62},
	} {
		require.NoError(t, c.t.Check(false), "%v", c.t)
		require.Equal(t, c.bytes, c.t.Bytes(), "%v", c.t)
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, c := range []struct {
		t     Type
		words string
	}{
		{Type{0, Shape{1}}, "dtype 0"},
		{Type{F32, Shape{1, 1, 1, 1, 1}}, "5 dimensions, at most 4"},
		{Type{F32, Shape{2, 0}}, "dimension 1 of shape [2, 0] is 0"},
		{Type{F32, Shape{-3}}, "is -3"},
		{Type{F32, Shape{1 << 32, 1 << 32}}, "overflows"},
		{Type{F32, Shape{1 << 31, 1 << 31, 4}}, "overflows"},
		{Type{I64, Shape{1 << 30, 1 << 30}}, "overflows"},
		{Type{F32, Shape{math.MaxInt64, 2}}, "overflows"},
		{Type{Q4_0, Shape{2, 1 << 62}}, "overflows"},
		{Type{Q4_0, Shape{2, 100}}, "a row of 100 elements cannot be stored as q4_0: rows must be a multiple of 32"},
		{Type{Q4_K, Shape{32}}, "multiple of 256"},
		{Type{Q8_0, Shape{}}, "q8_0"},
	} {
		require.ErrorContains(t, c.t.Check(false), c.words, "%v", c.t)
	}
	require.NoError(t, Type{F32, Shape{0, 3}}.Check(true))
}

func TestDTypeNamesAreUnique(t *testing.T) {
	for d := range layout {
		back, err := ParseDType(d.String())
		require.NoError(t, err)
		require.Equal(t, d, back)
	}
	_, err := ParseDType("f31")
	require.Error(t, err)
	require.Equal(t, "invalid", DType(7).String())
}
