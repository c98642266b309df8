package guarded

import "runtime"

// worthAThread is how many elements are worth a thread of their own.
const worthAThread = 1 << 18

// Each splits n rows of so many elements among the threads that the process may use.
// All have ended when it returns; the error is that of [Group.Wait].
func Each(n, elements int64, work func(from, to int64) error) error {
	threads := min(int64(runtime.GOMAXPROCS(0)), n, n*elements/worthAThread+1)
	if threads <= 1 {
		return work(0, n)
	}
	var group Group
	for i := range threads {
		group.Go(func() error { return work(n*i/threads, n*(i+1)/threads) })
	}
	return group.Wait()
}
