package ggml

// #include "contention.h"
import "C"

import "time"

// crowd keeps a stream's runs to one thread while others want the CPUs too. ggml's
// threads wait for each other by spinning, after every operator: when one of them
// is not running, because something else is on its CPU, all the others burn theirs
// until it is again, and a run takes as long as the scheduler's time slices.
type crowd struct {
	policy  crowdPolicy
	watched time.Duration // since when the threads' waiting is summed up; 0: not yet
}

// watchFor is how long waiting is summed up before it is judged, watchGap the time
// between runs after which the summing begins anew.
const (
	watchFor = 20 * time.Millisecond
	watchGap = time.Second
)

var crowdEpoch = time.Now()

// enter gives the number of threads for a run that would like to have more than one.
func (c *crowd) enter(threads int) int {
	if !c.policy.free(time.Since(crowdEpoch)) {
		return 1
	}
	return threads
}

// leave is called after a run on several threads.
func (c *crowd) leave(s *stream) {
	now := time.Since(crowdEpoch)
	wall, begun := now-c.watched, c.watched != 0
	if begun && wall < watchFor {
		return
	}
	c.watched = now
	waited := time.Duration(C.shim_stream_waited(s.ptr))
	if begun && wall < watchGap && c.policy.report(now, wall, waited) {
		c.watched = 0
		s.backend.cuts.Add(1)
	}
}

// crowdPolicy decides when runs have the CPUs to themselves. Times are since any
// one moment.
type crowdPolicy struct {
	until   time.Duration // runs are cut down until then
	backoff time.Duration // for how long they were last
}

// A thread that waited for more than one part in crowdedPart of the time is
// crowded. Runs are cut down for minBackoff, then tried again, and cut down for twice
// as long each time that they turn out to be crowded still.
const (
	crowdedPart = 10
	minBackoff  = 200 * time.Millisecond
	maxBackoff  = 6400 * time.Millisecond
)

// free says whether a run may have all its threads.
func (p *crowdPolicy) free(now time.Duration) bool { return now >= p.until }

// report judges a stretch of wall time in which the thread that waited longest for
// a CPU did so for this long; it says whether runs are cut down from now on.
func (p *crowdPolicy) report(now, wall, waited time.Duration) bool {
	if waited*crowdedPart <= wall {
		p.backoff = 0
		return false
	}
	p.backoff = min(max(2*p.backoff, minBackoff), maxBackoff)
	p.until = now + p.backoff
	return true
}
