package kernels_test

import (
	"fmt"
	"testing"
	"time"

	"qtsaccel/backends/kernels"
	"qtsaccel/backends/kernels/kerneltest"
	"qtsaccel/core/tensor"
)

// measure reports the best of many runs on one thread, since the machine may be busy
// otherwise: in so many operations, or bytes, a nanosecond.
func measure(b *testing.B, c *kerneltest.Call, amount float64, unit string) {
	best := time.Hour
	for b.Loop() {
		from := time.Now()
		c.Run(1)
		best = min(best, time.Since(from))
	}
	b.ReportMetric(amount/float64(best), unit)
}

func BenchmarkProduct(b *testing.B) {
	const n, k = 2048, 2048
	r := newRand()
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		w := normal(b, r, d, n, k)
		for _, m := range []int64{32, 512} {
			for p := range kerneltest.EveryProcessor(b) {
				b.Run(fmt.Sprintf("%v/%d rows/%v", d, m, p), func(b *testing.B) {
					in := append(operands(b, normal(b, r, tensor.F32, m, k), w), productScratch(d, m, k, 1))
					c := kerneltest.Prepare(b, "product", productNumbers(), kerneltest.OfValue(b, equal(tensor.F32, 0, m, n)), in...)
					measure(b, c, 2*float64(m*n*k), "best-GFLOP/s")
				})
			}
		}
	}
}

// BenchmarkConvolution is a layer of ESRGAN-slim on 128 by 128.
func BenchmarkConvolution(b *testing.B) {
	const channels, size, k = 64, 128, 3
	r := newRand()
	x, w := normal(b, r, tensor.F32, 1, channels, size, size), normal(b, r, tensor.F32, channels, channels, k, k)
	for p := range kerneltest.EveryProcessor(b) {
		b.Run(p.String(), func(b *testing.B) {
			in := append(operands(b, x, w), productScratch(tensor.F32, channels, channels*k*k, 1))
			c := kerneltest.Prepare(b, "convolution", still.padded(1).numbers(false), kerneltest.OfValue(b, x), in...)
			measure(b, c, 2*channels*channels*k*k*size*size, "best-GFLOP/s")
		})
	}
}

func BenchmarkAttention(b *testing.B) {
	const heads, kvHeads, n, d = 16, 8, 512, 128
	r := newRand()
	k, v := normal(b, r, tensor.F16, n, kvHeads, d), normal(b, r, tensor.F16, n, kvHeads, d)
	for _, rows := range []int64{1, 128} {
		q := normal(b, r, tensor.F32, rows, heads, d)
		for p := range kerneltest.EveryProcessor(b) {
			b.Run(fmt.Sprintf("%d queries/%v", rows, p), func(b *testing.B) {
				list := operands(b, q, k, v)
				chunk := kernels.AttentionChunk(rows, heads, kvHeads, n)
				out := equal(tensor.F32, 0, (n+chunk-1)/chunk, rows*heads, d+2)
				c := kerneltest.Prepare(b, "attention", []int32{floatBits(0.1)}, kerneltest.OfValue(b, out),
					list[0], list[1], scratch(kernels.AttentionScratch(d, d, 1)), list[2])
				measure(b, c, 4*float64(rows*heads*n*d), "best-GFLOP/s")
			})
		}
	}
}

func BenchmarkRows(b *testing.B) {
	const rows, n = 64, 2048
	r := newRand()
	x, parameters := normal(b, r, tensor.F32, rows, n), normal(b, r, tensor.F32, n)
	perRow := normal(b, r, tensor.F32, rows)
	for p := range kerneltest.EveryProcessor(b) {
		b.Run(fmt.Sprintf("rms_norm/%v", p), func(b *testing.B) {
			c := kerneltest.Prepare(b, "norm", []int32{floatBits(1e-5), 2, n, 0, 1, 0, 1, 0}, kerneltest.OfValue(b, x), operands(b, x, parameters)...)
			measure(b, c, rows*n*8, "best-GB/s")
		})
		b.Run(fmt.Sprintf("snake/%v", p), func(b *testing.B) {
			c := kerneltest.Prepare(b, "snake", nil, kerneltest.OfValue(b, x), operands(b, x, perRow, perRow)...)
			measure(b, c, rows*n*8, "best-GB/s")
		})
	}
}
