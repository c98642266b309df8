package main

import (
	"testing"

	"qtsaccel/core/ops"
	"qtsaccel/core/tensor"
)

// What the search found, as it was printed, each of a kind of its own.

// lstm_cell with a transposed weight: an assertion of ggml's product.
func TestTransposedWeightOfLSTM(t *testing.T) {
	replay(t, "cpu", &Case{
		Seed:     101214,
		Bindings: [][]int64{{}},
		Leaves: []Leaf{
			{Input, tensor.F32, []int64{5, 20}, Normal, 8},    // 0
			{Input, tensor.F32, []int64{20, 1}, Normal, 1005}, // 1
			{Input, tensor.F32, []int64{20, 1}, Normal, 1003}, // 2
		},
		Plans: []Plan{
			{Nodes: []Node{
				{"transpose", []Ref{leaf(0)}, []ops.AttrArg{ops.IntsAttr("axes", 1, 0)}},     // 0
				{"lstm_cell", []Ref{leaf(2), result(0), result(0), leaf(1), result(0)}, nil}, // 1
			}, Outputs: []Ref{result(1)}},
		},
		Steps: []Step{
			{Do: Run, Plan: 0, Binding: 0, Data: 1},
		},
	})
}

// A slice with a step that leaves one element, then concat: memory behind the input was read.
func TestSteppedSliceOfOneBeforeConcat(t *testing.T) {
	replay(t, "cpu", &Case{
		Seed:     404,
		Bindings: [][]int64{{}},
		Leaves: []Leaf{
			{Input, tensor.F32, []int64{1, 2, 1, 2}, Normal, 8},  // 0
			{Input, tensor.F32, []int64{2, 2, 1, 2}, Normal, 16}, // 1
		},
		Plans: []Plan{
			{Nodes: []Node{
				{"slice", []Ref{leaf(0)}, []ops.AttrArg{ops.IntAttr("axis", 0), ops.IntAttr("step", 3)}}, // 0
				{"concat", []Ref{result(0), leaf(1)}, []ops.AttrArg{ops.IntAttr("axis", 0)}},             // 1
			}, Outputs: []Ref{result(1)}},
		},
		Steps: []Step{
			{Do: Run, Plan: 0, Binding: 0, Data: 1},
		},
	})
}

// A slice with a step that leaves one element, then scale: an assertion of ggml's.
func TestSteppedSliceOfOneBeforeScale(t *testing.T) {
	replay(t, "cpu", &Case{
		Seed:     683,
		Bindings: [][]int64{{}},
		Leaves: []Leaf{
			{Input, tensor.F32, []int64{1, 1, 1, 1}, Normal, 1001}, // 0
		},
		Plans: []Plan{
			{Nodes: []Node{
				{"slice", []Ref{leaf(0)}, []ops.AttrArg{ops.IntAttr("axis", 0), ops.IntAttr("step", 2)}}, // 0
				{"scale", []Ref{result(0)}, nil}, // 1
			}, Outputs: []Ref{result(1)}},
		},
		Steps: []Step{
			{Do: Run, Plan: 0, Binding: 0, Data: 1},
		},
	})
}

// The same before swiglu.
func TestSteppedSliceOfOneBeforeSwiglu(t *testing.T) {
	replay(t, "cpu", &Case{
		Seed:     444,
		Bindings: [][]int64{{}},
		Leaves: []Leaf{
			{Input, tensor.F32, []int64{2, 1, 5}, Normal, 12},   // 0
			{Input, tensor.F32, []int64{2, 1, 6}, Normal, 1003}, // 1
		},
		Plans: []Plan{
			{Nodes: []Node{
				{"slice", []Ref{leaf(1)}, []ops.AttrArg{ops.IntAttr("axis", 2), ops.IntAttr("start", 1)}}, // 0
				{"exp", []Ref{result(0)}, nil},             // 1
				{"swiglu", []Ref{leaf(0), result(1)}, nil}, // 2
			}, Outputs: []Ref{result(2)}},
		},
		Steps: []Step{
			{Do: Run, Plan: 0, Binding: 0, Data: 1},
		},
	})
}

// Rows of a state written with its own: some were read after they had been overwritten.
func TestStateRowsOfItsOwn(t *testing.T) {
	replay(t, "cpu", &Case{
		Seed:     643,
		Bindings: [][]int64{{}},
		Leaves: []Leaf{
			{State, tensor.F32, []int64{2, 1}, Normal, 3}, // 0
			{Input, tensor.I32, []int64{2}, Distinct, 4},  // 1
		},
		Plans: []Plan{
			{Nodes: []Node{
				{"slice", []Ref{leaf(0)}, []ops.AttrArg{ops.IntAttr("axis", 0)}}, // 0
				{"state_write", []Ref{leaf(0), result(0), leaf(1)}, nil},         // 1
			}, Outputs: []Ref{result(1)}},
		},
		Steps: []Step{
			{Do: SetAll, Plan: 0, Binding: 0, Data: 1},
			{Do: Run, Plan: 0, Binding: 0, Data: 1},
		},
	})
}

// rope of heads of odd length, part of which turns, as an operator-level call: memory behind the output was written.
func TestOddHeadsOfRope(t *testing.T) {
	replay(t, "cpu", &Case{
		Seed:     101963,
		Bindings: [][]int64{{}},
		Leaves: []Leaf{
			{Weight, tensor.F32, []int64{2, 1, 5}, Normal, 4}, // 0
			{Input, tensor.I32, []int64{2}, Positions, 5},     // 1
			{Input, tensor.F32, []int64{1, 1, 1}, Normal, 6},  // 2
		},
		Plans: []Plan{
			{Nodes: []Node{
				{"rope", []Ref{leaf(0), leaf(1)}, []ops.AttrArg{ops.IntAttr("dims", 2)}}, // 0
				{"conv_transpose1d", []Ref{leaf(0), leaf(2)}, nil},                       // 1
				{"slice", []Ref{leaf(0)}, []ops.AttrArg{ops.IntAttr("axis", 1)}},         // 2
			}, Outputs: []Ref{result(0), result(1), result(2)}},
		},
		Steps: []Step{
			{Do: Call, Plan: 0, Binding: 0, Data: 1, Node: 0x15},
		},
	})
}

// Padding of nothing gave the state itself, which is written later.
func TestPaddingOfNothing(t *testing.T) {
	replay(t, "cpu", &Case{
		Seed:     200735,
		Bindings: [][]int64{{}},
		Leaves: []Leaf{
			{State, tensor.F32, []int64{1}, Normal, 2},          // 0
			{Input, tensor.F32, []int64{1}, Normal, 14},         // 1
			{Input, tensor.F32, []int64{1, 1, 1}, Normal, 1004}, // 2
		},
		Plans: []Plan{
			{Nodes: []Node{
				{"pad", []Ref{leaf(0)}, []ops.AttrArg{ops.RealAttr("value", -1), ops.IntsAttr("pads", 0, 0)}}, // 0
				{"state_write", []Ref{leaf(0), result(0)}, nil},                                               // 1
				{"state_write", []Ref{result(1), leaf(1)}, nil},                                               // 2
			}, Outputs: []Ref{leaf(2)}},
		},
		Steps: []Step{
			{Do: Run, Plan: 0, Binding: 0, Data: 1},
		},
	})
}

// A state written as a whole, then rows of it with its own.
func TestStateWrittenTwice(t *testing.T) {
	replay(t, "cpu", &Case{
		Seed:     102791,
		Bindings: [][]int64{{}},
		Leaves: []Leaf{
			{State, tensor.F32, []int64{2, 1}, Normal, 8}, // 0
			{Input, tensor.F32, []int64{2, 1}, Normal, 9}, // 1
			{Input, tensor.I32, []int64{2}, Distinct, 10}, // 2
		},
		Plans: []Plan{
			{Nodes: []Node{
				{"state_write", []Ref{leaf(0), leaf(1)}, nil},                      // 0
				{"slice", []Ref{result(0)}, []ops.AttrArg{ops.IntAttr("axis", 0)}}, // 1
				{"state_write", []Ref{result(0), result(1), leaf(2)}, nil},         // 2
			}, Outputs: []Ref{result(2)}},
		},
		Steps: []Step{
			{Do: Run, Plan: 0, Binding: 0, Data: 1},
		},
	})
}
