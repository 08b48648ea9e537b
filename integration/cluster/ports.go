package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// Ports are taken from below the range that the kernel gives to outgoing connections (32768 on Linux), so that none of those
// takes one away between its choice and the daemon's start.
const (
	firstPort = 20000
	lastPort  = 32000
)

// ports hands out free ports, each once.
type ports struct {
	next, left int
	err        error // the first failure; on then returns an empty address
}

func newPorts() *ports {
	n := lastPort - firstPort
	return &ports{next: rand.IntN(n), left: n} // starts anywhere, so that two clusters started together do not meet
}

// on returns host:port with a port that is free on host.
func (p *ports) on(host string) string {
	if p.err != nil {
		return ""
	}
	for p.left > 0 {
		p.left--
		p.next = (p.next + 1) % (lastPort - firstPort)
		address := net.JoinHostPort(host, strconv.Itoa(firstPort+p.next))
		err := tryListen(address)
		if err == nil {
			return address
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			p.err = fmt.Errorf("find a free port on %s: %w", host, err)
			return ""
		}
	}
	p.err = fmt.Errorf("find a free port on %s: %w", host, errors.New("all are taken"))
	return ""
}

func tryListen(address string) error {
	resolved, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return err
	}
	l, err := net.ListenTCP("tcp4", resolved)
	if err != nil {
		return err
	}
	return l.Close()
}
