package ggml

// crowd watches whether a stream's threads have to share their CPUs.
type crowd struct{}

func (c *crowd) enter(threads int) int { return threads }
func (c *crowd) leave(s *stream)       {}
func (c *crowd) close()                {}
