package ggml

/*
#include "ggml.h"
#include "shim_ops.h"
*/
import "C"

import (
	"maps"
	"math"

	"qtsaccel/backends/kernels"
	"qtsaccel/core/tensor"
)

// sameExtents says whether two shapes differ at most in leading ones: to ggml
// they are the same.
func sameExtents(a, b tensor.Shape) bool { return extents(a) == extents(b) }

// broadcast lowers an operator on two tensors. ggml stretches the second operand
// only, so the first must have the result's shape: where swapping does not bring
// that about, it is repeated.
func broadcast(commutes bool, f func(l *lowering, x, y node) node) lowerFunc {
	return one(func(c *call) node {
		x, y := c.in(0), c.in(1)
		switch out := c.Out[0].Shape; {
		case sameExtents(c.In[0].Shape, out):
		case commutes && sameExtents(c.In[1].Shape, out):
			x, y = y, x
		default:
			x = c.expand(c.dense(x), out)
		}
		return c.inMemoryOrder(func(x node, others ...node) node {
			return f(c.lowering, c.rows(x), c.rows(others[0]))
		}, x, y)
	})
}

// unary lowers one of ggml's unary operators.
func unary(op C.int32_t) lowerFunc {
	return one(func(c *call) node {
		return c.inMemoryOrder(func(x node, _ ...node) node { return c.unary(op, c.rows(x)) }, c.in(0))
	})
}

// elementwise lowers an operator that has a function of its own in ggml.
func elementwise(f func(l *lowering, x node) node) lowerFunc {
	return one(func(c *call) node {
		return c.inMemoryOrder(func(x node, _ ...node) node { return f(c.lowering, c.rows(x)) }, c.in(0))
	})
}

func init() {
	maps.Copy(lowerings, map[string]lowerFunc{
		"add": broadcast(true, (*lowering).add),
		"sub": broadcast(false, (*lowering).sub),
		"mul": broadcast(true, (*lowering).mul),
		"div": broadcast(false, (*lowering).div),

		"abs":      unary(C.GGML_UNARY_OP_ABS),
		"neg":      unary(C.GGML_UNARY_OP_NEG),
		"step":     unary(C.GGML_UNARY_OP_STEP),
		"relu":     one(lowerRelu),
		"sigmoid":  unary(C.GGML_UNARY_OP_SIGMOID),
		"tanh":     unary(C.GGML_UNARY_OP_TANH),
		"silu":     unary(C.GGML_UNARY_OP_SILU),
		"exp":      unary(C.GGML_UNARY_OP_EXP),
		"softplus": unary(C.GGML_UNARY_OP_SOFTPLUS),

		"square": elementwise((*lowering).sqr),
		"sqrt":   elementwise((*lowering).sqrt),
		"log":    elementwise((*lowering).log),
		"sin":    elementwise((*lowering).sin),
		"cos":    elementwise((*lowering).cos),
	})
}

func lowerGelu(c *call) node {
	switch {
	case c.Text("approximate") == "none":
		return c.unary(C.GGML_UNARY_OP_GELU_ERF, c.rows(c.in(0)))
	case c.backend.cpu: // looks it up in a table of f16
		return none
	}
	return c.unary(C.GGML_UNARY_OP_GELU, c.rows(c.in(0)))
}

func lowerElu(c *call) node {
	if c.Real("alpha") != 1 {
		return none
	}
	return c.unary(C.GGML_UNARY_OP_ELU, c.rows(c.in(0)))
}

// lowerRelu: on the CPU ggml's loses NaN.
func lowerRelu(c *call) node {
	if c.backend.cpu {
		return c.elementwiseKernel("clamp", numbers{floatBits(0), floatBits(math.Inf(1))}, kernels.Rows)
	}
	return c.inMemoryOrder(func(x node, _ ...node) node { return c.unary(C.GGML_UNARY_OP_RELU, c.rows(x)) }, c.in(0))
}

func lowerLeakyRelu(c *call) node {
	return c.leakyRelu(c.dense(c.in(0)), c.Real("negative_slope"))
}

func lowerClamp(c *call) node {
	return c.clamp(c.dense(c.in(0)), c.Real("min"), c.Real("max"))
}

func lowerScale(c *call) node { return c.scale(c.dense(c.in(0)), c.Real("scale"), c.Real("bias")) }

func lowerSwiglu(c *call) node {
	return c.swiglu(c.dense(c.in(0)), c.dense(c.in(1)))
}

func lowerCast(c *call) node {
	from, to := c.In[0].DType, c.Out[0].DType
	x := c.dense(c.in(0))
	switch {
	case from == to:
		return x
	case from.Quantised() && to.Float():
		y := c.cast(x, tensor.F32)
		if to != tensor.F32 {
			y = c.cast(y, to)
		}
		return y
	case from.Float() && to.Float(), from == tensor.I32 && to == tensor.F32, !c.backend.cpu && from == tensor.F32 && to == tensor.I32:
		return c.cast(x, to)
	case !c.backend.cpu || to.Quantised():
		return none
	}
	// Integers meet f32 only.
	f32 := func(s tensor.Shape) tensor.Type { return tensor.Type{DType: tensor.F32, Shape: s} }
	switch {
	case from.Float() && from != tensor.F32, from.Quantised():
		x = c.cast(x, tensor.F32)
	case to.Float() && to != tensor.F32:
		return c.cast(c.kernel("cast", f32(c.Out[0].Shape), noNumbers, x), to)
	}
	return c.kernel("cast", c.Out[0], noNumbers, x)
}
