package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/doorstep"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/liveness"
)

// ServerConfig is what a Server needs to know.
type ServerConfig struct {
	Host ids.HostID // ids.PartitionHost of the worker
	// ListenHost is the address to listen on, by which task hosts reach this worker; the system chooses the port.
	ListenHost string
	// TLS checks that peers are task hosts of the application (VerifyConnection). nil: no TLS, for hosts in one process.
	TLS *tls.Config
	// JobOf gives the job of a peer that TLS has checked: the peer reads only the partitions of this job. Required with TLS.
	JobOf func(tls.ConnectionState) (ids.JobID, error)
	// Unreachable is the time after which a consumer's host counts as lost: see Config.
	Unreachable time.Duration
	// Listen makes the listener; nil: TCP.
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
	Logger logrus.FieldLogger

	maxChannels  int // of a connection; 0: maxServed
	maxOpenFiles int // 0: maxOpenFiles
}

// Server serves the finished blocking partitions of a worker, of all jobs, to the task hosts that read them. The hosts that have
// written them may have ended. It listens from NewServer to Close. Its methods may be called from any goroutine, and do not wait for
// disks, except Close.
//
// It reads a block of a file when a consumer has given credit for it, in the goroutine that writes the connection. So a slow disk
// delays only consumers on the same connection. A consumer without credit costs its place in a table. A connection that is read takes
// some 100 KiB, and an idle one two goroutines and the buffers of TLS. One job may have a bounded number of both: see guests.
type Server struct {
	config   ServerConfig
	log      logrus.FieldLogger
	shelf    *shelf
	guests   guests
	rooms    sync.Pool // of *room
	batches  sync.Pool // of *[]byte: see batch
	acceptor *acceptor
	close    sync.Once
}

// NewServer makes the server of a worker and starts to listen.
func NewServer(ctx context.Context, config ServerConfig) (*Server, error) {
	if config.Listen == nil {
		config.Listen = new(net.ListenConfig).Listen
	}
	if (config.TLS == nil) != (config.JobOf == nil) {
		return nil, errors.New("make server of partitions: set both TLS and JobOf, or neither")
	}
	if config.maxChannels == 0 {
		config.maxChannels = maxServed
	}
	if config.maxOpenFiles == 0 {
		config.maxOpenFiles = maxOpenFiles
	}
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(config.ListenHost, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen for readers of partitions: %w", err)
	}
	s := &Server{config: config, log: config.Logger.WithField("host", string(config.Host)), shelf: newShelf(config.maxOpenFiles)}
	s.guests.jobs = make(map[ids.JobID]*guest)
	s.rooms.New = func() any { return new(room) }
	listener = doorstep.New(liveness.Listener{Listener: listener, After: config.Unreachable})
	s.acceptor = newAcceptor(listener, s.log, func(conn net.Conn) visitor { return newServedLink(s, conn) })
	return s, nil
}

// Address is the address for task hosts, host:port.
func (s *Server) Address() string { return s.acceptor.listener.Addr().String() }

// Add serves a partition of a job from now on. The file is at this path, and stays there until Remove. If the server has the partition
// already, the new path replaces the old one.
func (s *Server) Add(job ids.JobID, partition PartitionID, path string) {
	s.shelf.add(job, partition, path)
}

// Remove ends to serve partitions of a job, also those that the server does not have. Tasks that still read one fail with
// PartitionLostError. It does not remove the files. The server closes them when they are not read at the moment.
func (s *Server) Remove(job ids.JobID, partitions ...PartitionID) { s.shelf.remove(job, partitions) }

// Close ends the server: its connections end, and their readers fail with ErrPeerLost. It waits for all goroutines, and may be called
// more than once.
func (s *Server) Close() {
	s.close.Do(func() {
		for _, v := range s.acceptor.shut() {
			v.part()
			v.abort() // all of its data would take too long
		}
	})
	s.acceptor.running.Wait()
	s.shelf.clear()
}
