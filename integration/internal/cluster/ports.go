package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"syscall"
)

// Ports are below the range that the kernel gives to outgoing connections (32768 on Linux). So no connection takes a
// port between its choice and the start of its daemon. A cluster has a block of ports for itself, because its daemons
// give up their ports while they restart.
const (
	loosePort  = 10000 // the first of those that belong to no cluster: see FreePorts
	firstPort  = 20000
	lastPort   = 32000
	blockPorts = 250 // four for each of 50 NodeManagers, and the others
)

// Ports returns the cluster's own block of ports, from first to last. All its daemons listen there.
func (c *Cluster) Ports() (first, last int, err error) {
	_, text, err := net.SplitHostPort(c.spec.Daemons[0].Web)
	if err != nil {
		return 0, 0, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return 0, 0, err
	}
	first = port - (port-firstPort)%blockPorts
	return first, first + blockPorts - 1, nil
}

// AllPorts returns the range of the blocks of all clusters, from first to last.
func AllPorts() (first, last int) { return firstPort, lastPort - 1 }

// FreePorts returns n ports on which nothing listens, for servers that belong to no cluster. A JVM may take seconds until it listens
// there: connections and clusters keep away meanwhile, but another call could return the same ports.
func FreePorts(n int) ([]int, error) {
	var found []int
	for len(found) < n {
		port := loosePort + rand.IntN(firstPort-loosePort)
		if slices.Contains(found, port) {
			continue
		}
		l, err := listen(net.JoinHostPort("0.0.0.0", strconv.Itoa(port)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		found = append(found, port)
	}
	return found, nil
}

// ports hands out the free ports of a block, each once.
type ports struct {
	claim net.Listener // listens on the block's first port; other clusters keep away while it is open
	next  int
	left  int
	err   error // the first failure; after it, method on returns an empty address
}

// claimPorts claims a free block until release.
func claimPorts() (*ports, error) {
	for _, block := range rand.Perm((lastPort - firstPort) / blockPorts) {
		p, err := claimBlock(firstPort + block*blockPorts)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find free ports: %w", err)
		}
		return p, nil
	}
	return nil, fmt.Errorf("find free ports: each range of %d ports between %d and %d contains a port in use", blockPorts, firstPort, lastPort)
}

// claimBlock fails with EADDRINUSE if one of the ports is in use on any address. A cluster that outlives the process
// that started it has no claim any more, and gives up one port at a time.
func claimBlock(first int) (*ports, error) {
	claim, err := listen(net.JoinHostPort(master, strconv.Itoa(first)))
	if err != nil {
		return nil, err
	}
	for port := first + 1; port < first+blockPorts; port++ {
		l, err := listen(net.JoinHostPort("0.0.0.0", strconv.Itoa(port)))
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			return nil, errors.Join(err, claim.Close())
		}
	}
	return &ports{claim: claim, next: first + 1, left: blockPorts - 1}, nil
}

// release gives the block back.
func (p *ports) release() error { return p.claim.Close() }

// on returns host:port with a port that is free on host.
func (p *ports) on(host string) string {
	for p.err == nil && p.left > 0 {
		address := net.JoinHostPort(host, strconv.Itoa(p.next))
		p.next++
		p.left--
		l, err := listen(address)
		switch {
		case errors.Is(err, syscall.EADDRINUSE): // in use by a program that claims no block
			continue
		case err == nil:
			err = l.Close()
		}
		if err != nil {
			p.err = fmt.Errorf("find a free port on %s: %w", host, err)
			return ""
		}
		return address
	}
	if p.err == nil {
		p.err = fmt.Errorf("find a free port on %s: all ports of the cluster are in use", host)
	}
	return ""
}

func listen(address string) (net.Listener, error) {
	resolved, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return nil, err
	}
	return net.ListenTCP("tcp4", resolved)
}
