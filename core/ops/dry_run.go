package ops

import "qtsaccel/core/tensor"

// Decomposes says whether the call can be decomposed into others.
func (c *Call) Decomposes() bool {
	if c.Op.Decompose == nil {
		return false
	}
	d := &dryRun{}
	in := make([]Ref, len(c.In))
	for i, t := range c.In {
		in[i] = None
		if c.Has(i) {
			in[i] = d.tensor(t)
		}
	}
	_, err := c.Op.Decompose(d, c, in)
	return err == nil
}

// dryRun is a [Builder] that keeps the types and nothing else.
type dryRun struct{ types []tensor.Type }

func (d *dryRun) tensor(t tensor.Type) Ref {
	d.types = append(d.types, t)
	return Ref(len(d.types) - 1)
}

// Add checks the call.
func (d *dryRun) Add(name string, in []Ref, attrs ...AttrArg) ([]Ref, error) {
	op, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	values, err := op.Bind(attrs)
	if err != nil {
		return nil, err
	}
	types := make([]tensor.Type, len(in))
	for i, r := range in {
		if r != None {
			types[i] = d.types[r]
		}
	}
	c, err := op.NewCall(types, values)
	if err != nil {
		return nil, err
	}
	out := make([]Ref, len(c.Out))
	for i, t := range c.Out {
		out[i] = d.tensor(t)
	}
	return out, nil
}
