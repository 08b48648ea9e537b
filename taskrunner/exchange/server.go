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
	"github.com/bobbin-yarn/bobbin/taskrunner/partition"
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
	// Memory is how many bytes the process may use (GOMEMLIMIT). They bound the connections, and what these write at once; 0: 32 MiB.
	Memory int64
	// Listen makes the listener; nil: TCP.
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
	Logger logrus.FieldLogger

	maxChannels  int                                        // of a connection; 0: maxServed
	maxOpenFiles int                                        // 0: maxOpenFiles
	opens        func(path string) (*partition.File, error) // nil: partition.Open
}

// Server serves the finished blocking partitions of a worker, of all jobs, to the task hosts that read them. The hosts that have
// written them may have ended. It listens from NewServer to Close. Its methods may be called from any goroutine, and do not wait for
// disks, except Close.
//
// It reads a block of a file when a consumer has given credit for it, in the goroutine that writes the connection. If a read is slow,
// another goroutine goes on with the other channels. So a disk that hangs stops only its own consumers. Slow reads are bounded: see
// maxSlow. A consumer without credit costs its place in a table, and a connection readerBytes. One job may have a bounded number of
// connections and channels: see guests. Further readers are refused, and ask again.
type Server struct {
	config   ServerConfig
	log      logrus.FieldLogger
	shelf    *shelf
	guests   guests
	rooms    sync.Pool // of *partition.Room
	blocks   sync.Pool // of *buffer
	batches  *batchMemory
	acceptor *acceptor
	close    sync.Once
	reading  sync.WaitGroup // reads of disks
	busy     sync.Once      // warns that readers wait

	mu    sync.Mutex // guards disks
	disks map[int]*disk
}

// NewServer makes the server of a worker and starts to listen.
func NewServer(ctx context.Context, config ServerConfig) (*Server, error) {
	if config.Listen == nil {
		config.Listen = new(net.ListenConfig).Listen
	}
	if (config.TLS == nil) != (config.JobOf == nil) {
		return nil, errors.New("make server of partitions: set both TLS and JobOf, or neither")
	}
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(config.ListenHost, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen for readers of partitions: %w", err)
	}
	s := newServer(config)
	listener = doorstep.New(liveness.Listener{Listener: listener, After: config.Unreachable})
	s.acceptor = newAcceptor(listener, s.log, func(conn net.Conn) visitor { return newServedLink(s, conn) })
	return s, nil
}

// newServer makes a server that does not listen.
func newServer(config ServerConfig) *Server {
	if config.maxChannels == 0 {
		config.maxChannels = maxServed
	}
	if config.maxOpenFiles == 0 {
		config.maxOpenFiles = maxOpenFiles
	}
	if config.opens == nil {
		config.opens = partition.Open
	}
	if config.Memory == 0 {
		config.Memory = serverMemory
	}
	return &Server{
		config: config, log: config.Logger.WithField("host", string(config.Host)), shelf: newShelf(config.maxOpenFiles, config.opens),
		guests: guestsIn(config.Memory), batches: batchesIn(config.Memory / 8),
		rooms:  sync.Pool{New: func() any { return new(partition.Room) }},
		blocks: sync.Pool{New: func() any { return new(buffer) }},
		disks:  make(map[int]*disk),
	}
}

// Address is the address for task hosts, host:port.
func (s *Server) Address() string { return s.acceptor.listener.Addr().String() }

// Add serves a partition of a job from now on. The file is at this path, on a disk that the caller has numbered, and stays there until
// Remove. If the server has the partition already, the new path replaces the old one.
func (s *Server) Add(job ids.JobID, partition PartitionID, disk int, path string) {
	s.shelf.add(job, partition, s.disk(disk), path)
}

func (s *Server) disk(n int) *disk {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.disks[n]
	if d == nil {
		d = new(disk)
		s.disks[n] = d
	}
	return d
}

// Remove ends to serve partitions of a job, also those that the server does not have. Tasks that still read one fail with
// PartitionLostError. It does not remove the files. The server closes them when they are not read at the moment.
func (s *Server) Remove(job ids.JobID, partitions ...PartitionID) { s.shelf.remove(job, partitions) }

// warnBusy says, once, that readers wait for room.
func (s *Server) warnBusy(err error) {
	if errors.Is(err, errCrowdedHost) {
		s.log.WithError(err).Debug("reader of partitions waits and asks again")
		return
	}
	s.busy.Do(func() { s.log.WithError(err).Warn("readers of partitions wait and ask again") })
}

// closeTime bounds how long Close waits for reads, 1 s.
const closeTime = time.Second

// Close ends the server: its connections end, and their readers fail with ErrPeerLost. It waits for all goroutines, but no longer than
// closeTime for those whose disk hangs: they end with their reads. It may be called more than once.
func (s *Server) Close() {
	s.close.Do(func() {
		for _, v := range s.acceptor.shut() {
			v.part()
			v.abort() // all of its data would take too long
		}
	})
	s.acceptor.running.Wait() // then no further reads begin
	s.shelf.clear()
	read := make(chan struct{})
	go func() { // ends with the reads
		s.reading.Wait()
		close(read)
	}()
	late := time.NewTimer(closeTime)
	defer late.Stop()
	select {
	case <-read:
	case <-late.C:
		s.log.Warn("a disk does not answer; its readers of partitions end when it does")
	}
}
