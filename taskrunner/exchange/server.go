package exchange

import (
	"context"
	"crypto/tls"
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
}

// Server serves the finished blocking partitions of a worker, of all jobs, to the task hosts that read them. The hosts that have
// written them may have ended. It listens from NewServer to Close. Its methods may be called from any goroutine.
//
// It reads a block of a file when a consumer has given credit for it, in the goroutine that writes the connection. So a slow disk
// delays only consumers on the same connection, and a slow consumer costs no memory but its place in a table.
type Server struct {
	config   ServerConfig
	listener net.Listener

	mu    sync.Mutex // guards all below
	files map[ids.JobID]map[PartitionID]string
}

// NewServer makes the server of a worker and starts to listen.
func NewServer(ctx context.Context, config ServerConfig) (*Server, error) {
	if config.Listen == nil {
		config.Listen = new(net.ListenConfig).Listen
	}
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(config.ListenHost, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen for readers of partitions: %w", err)
	}
	return &Server{
		config: config, listener: doorstep.New(liveness.Listener{Listener: listener, After: config.Unreachable}),
		files: make(map[ids.JobID]map[PartitionID]string),
	}, nil
}

// Address is the address for task hosts, host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Add serves a partition of a job from now on. The file is at this path, and stays there until Remove.
func (s *Server) Add(job ids.JobID, partition PartitionID, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[job] == nil {
		s.files[job] = make(map[PartitionID]string)
	}
	s.files[job][partition] = path
}

// Remove ends to serve partitions of a job. Tasks that still read one fail with PartitionLostError. It does not remove the files, and
// when it returns, the server has closed them. It does not matter whether the server has the partitions.
func (s *Server) Remove(job ids.JobID, partitions ...PartitionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range partitions {
		delete(s.files[job], p)
	}
	if len(s.files[job]) == 0 {
		delete(s.files, job)
	}
}

// RemoveJob removes all partitions of a job.
func (s *Server) RemoveJob(job ids.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, job)
}

// Close ends the server: its connections end, and readers fail with ErrPeerLost. It waits for all goroutines, and may be called more
// than once.
func (s *Server) Close() { s.listener.Close() }
