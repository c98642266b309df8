package osfile

import (
	"sync/atomic"
	"syscall"
	"time"
)

var pollerStarted atomic.Bool

// StartPoller starts Go's poller, once, if there are descriptors for it, and says
// whether it runs. Nothing here needs it, but Go starts it by itself for the first timer,
// also one of its own memory management, and ends the process where it cannot: so it is
// started while it can be. It takes two descriptors for the life of the process.
func StartPoller() bool {
	if pollerStarted.Load() {
		return true
	}
	if !pollerCanStart() {
		return false
	}
	time.AfterFunc(time.Hour, func() {}).Stop() // any timer does it
	pollerStarted.Store(true)
	return true
}

// pollerCanStart does what the poller does when it starts, runtime/netpoll_epoll.go.
func pollerCanStart() bool {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	defer syscall.Close(epoll)
	event, _, code := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if code != 0 {
		return false
	}
	defer syscall.Close(int(event))
	return syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, int(event), &syscall.EpollEvent{Events: syscall.EPOLLIN}) == nil
}
