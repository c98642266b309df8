package quant

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"qtsaccel/core/status"
	"qtsaccel/core/tensor"
)

// blocksOf fills blocks of 256 with values of a size.
func blocksOf(size float64, blocks int) []float32 {
	r := rand.New(rand.NewPCG(11, 12))
	v := make([]float32, 256*blocks)
	for i := range v {
		v[i] = float32(r.NormFloat64() * size)
	}
	return v
}

// Whatever the size of values, what Store writes is as near to them as at size 1, in
// proportion, or it says that the type does not hold them.
func TestStoreNeverLosesInSilence(t *testing.T) {
	held := map[tensor.DType]float64{ // the least size at which a type holds normal numbers, about
		tensor.F32: 1e-46, tensor.BF16: 1e-37, tensor.F16: 3e-5, tensor.MXFP4: 1e-37,
		tensor.Q8_0: 1e-3, tensor.Q4_0: 1e-5, tensor.Q4_1: 1e-5, tensor.Q5_0: 1e-5, tensor.Q5_1: 1e-5, tensor.IQ4NL: 1e-3,
	}
	for d, least := range held {
		for e := -46; e <= 4; e++ {
			size := math.Pow10(e)
			src := blocksOf(size, 4)
			block, bytes := d.Block()
			dst := make([]byte, int64(len(src))/block*bytes)
			err := Store(d, dst, src)
			if size >= least && err != nil && e < 3 {
				t.Errorf("%v of size %g: %v", d, size, err)
			}
			if err != nil {
				require.Equal(t, status.InvalidArgument, status.Of(err), "%v: %v", d, err)
				u, ok := errors.AsType[*Unheld](err)
				require.True(t, ok)
				require.Equal(t, e < 3, u.Small)
				require.Equal(t, d, u.DType)
				continue
			}
			back := make([]float32, len(src))
			require.NoError(t, Decode(d, back, dst))
			for i := 0; i < len(src); i += 32 {
				most, worst := 0.0, 0.0
				for j := i; j < i+32; j++ {
					most = max(most, math.Abs(float64(src[j])))
					worst = max(worst, math.Abs(float64(src[j])-float64(back[j])))
				}
				// A whole step of 4 bits, the coarsest.
				require.LessOrEqual(t, worst, 0.3*most, "%v of size %g, elements from %d on", d, size, i)
			}
		}
	}
}

func TestWhatIsTooSmallIsNamed(t *testing.T) {
	src := make([]float32, 64)
	src[0], src[40] = 1, 1e-10
	err := Store(tensor.Q8_0, make([]byte, 68), src)
	require.ErrorContains(t, err, "elements 32 to 63, up to 1e-10, are too small for q8_0")
	require.NoError(t, Store(tensor.Q8_0, make([]byte, 68), make([]float32, 64)), "zeros are held")
	require.NoError(t, Store(tensor.F16, make([]byte, 128), src), "beside 1, 1e-10 is rounded")
	require.ErrorContains(t, Store(tensor.F16, make([]byte, 64), src[32:]), "elements 0 to 31, up to 1e-10, are too small for f16")
	exact := []float32{0x1p-24, -0x1p-20, 0}
	require.NoError(t, Store(tensor.F16, make([]byte, 6), exact), "f16 has these")
	require.ErrorContains(t, Store(tensor.BF16, make([]byte, 4), []float32{1, math.MaxFloat32}), "element 1, 3.4028235e+38, is too large for bf16")
	// q4_1 keeps blocks that are nearly constant, whatever their step.
	constant := make([]float32, 32)
	for i := range constant {
		constant[i] = 0.5 + float32(i%2)*1e-7
	}
	require.NoError(t, Store(tensor.Q4_1, make([]byte, 20), constant))
}

// A block keeps levels only where f16 keeps its scale.
func TestBlocksKeepTheirScale(t *testing.T) {
	levels := Block{}
	for i := range levels.Levels {
		levels.Levels[i] = int32(i % 8)
	}
	for scale, ok := range map[float32]bool{1: true, 1e-2: true, 1e-4: true, 6.2e-5: true, 1e-5: false, 1e-6: false, 2e-8: false, 1e-30: false, 7e4: false, 0: true, 0x1p-24: true, 0x3p-20: true} {
		for _, d := range []tensor.DType{tensor.Q8_0, tensor.Q4_0, tensor.Q4_1, tensor.Q5_0, tensor.Q5_1} {
			b := levels
			b.Scale = scale
			_, bytes := d.Block()
			dst := make([]byte, bytes)
			require.Equal(t, ok, b.Write(d, dst), "%v with %v", d, scale)
			if !ok {
				continue
			}
			var back [32]float32
			require.NoError(t, Decode(d, back[:], dst))
			for i, v := range back {
				want := float64(scale) * float64(b.Levels[i])
				require.LessOrEqual(t, math.Abs(float64(v)-want), math.Abs(want)/2048, "%v with %v", d, scale)
			}
		}
	}
	none := Block{Scale: 1e-12} // as quantisers have it for rows of zeros
	require.True(t, none.Write(tensor.Q8_0, make([]byte, 34)))
	least := Block{Scale: 1e-9, Least: 0.25} // small beside what it is added to
	require.True(t, least.Write(tensor.Q4_1, make([]byte, 20)))
	least.Least = 1e-9
	require.False(t, least.Write(tensor.Q4_1, make([]byte, 20)))
}

// What ggml's own search makes of values is looked at, too, and found right where it is.
func TestWhatASearchStoredIsChecked(t *testing.T) {
	lib := openGGML(t)
	importance := make([]float32, 1024)
	for i := range importance {
		importance[i] = float32(i % 7)
	}
	for _, d := range []tensor.DType{tensor.Q2_K, tensor.Q3_K, tensor.Q4_K, tensor.Q5_K, tensor.Q6_K, tensor.Q8_0, tensor.Q4_0, tensor.Q5_1, tensor.IQ4NL} {
		block, bytes := d.Block()
		for _, by := range [][]float32{nil, importance} {
			for size, small := range map[float64]bool{1: false, 0.02: false, 0.002: false, 1e-9: true, 1e-20: true, 1e9: false} {
				src := blocksOf(size, 4)
				dst := make([]byte, 1024/block*bytes)
				var first *float32
				if by != nil {
					first = &by[0]
				}
				lib.chunk(ggmlNumbers[d], &src[0], &dst[0], 0, 1, 1024, first)
				err := CheckStored(d, dst, src, by)
				if size <= 1 && !small {
					require.NoError(t, err, "%v of size %g", d, size)
					continue
				}
				u, ok := errors.AsType[*Unheld](err)
				require.True(t, ok, "%v of size %g: %v", d, size, err)
				require.Equal(t, small, u.Small, "%v of size %g", d, size)
			}
		}
	}
}
