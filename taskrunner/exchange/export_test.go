package exchange

import (
	"net"

	"github.com/bobbin-yarn/bobbin/taskrunner/partition"
)

// MaxPerChannel bounds the buffers of one end of a channel.
const MaxPerChannel = maxPerChannel

// Behind makes an exchange accept connections through a wrapper of its listener.
func Behind(over func(net.Listener) net.Listener) func(*Config) {
	return func(c *Config) { c.behind = over }
}

// Made is the number of buffers that the exchange has now, used or free.
func (e *Exchange) Made() int {
	e.pool.mu.Lock()
	defer e.pool.mu.Unlock()
	return e.pool.made
}

// Reserved is the number of guaranteed buffers.
func (e *Exchange) Reserved() int {
	e.pool.mu.Lock()
	defer e.pool.mu.Unlock()
	return e.pool.reserved
}

// IdleBytes is what a Server counts for an idle connection.
const IdleBytes = idleBytes

// MaxOpen bounds the channels of a gate to finished partitions.
const MaxOpen = maxOpen

// FewFiles makes a server keep few files open.
func FewFiles(n int) func(*ServerConfig) { return func(c *ServerConfig) { c.maxOpenFiles = n } }

// OpenFiles is the number of files that a server has open.
func (s *Server) OpenFiles() int {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	return s.shelf.open.Len()
}

// Opens makes a server open files by this function.
func Opens(f func(path string) (*partition.File, error)) func(*ServerConfig) {
	return func(c *ServerConfig) { c.opens = f }
}

// MaxSlow bounds the slow reads of a disk, if one connection reads it.
const MaxSlow = maxSlow

// Slow gives the slow reads of a disk, and the channels that wait until there are fewer.
func (s *Server) Slow(n int) (slow, parked int) {
	d := s.disk(n)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.slow, d.parked.Len()
}
