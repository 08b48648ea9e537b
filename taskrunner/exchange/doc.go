// Package exchange is the data plane between the task hosts of one job: it moves
// records from ResultPartitions to InputGates, over framed TCP between hosts and
// by hand-over within one, always against credits.
//
//	task ─Emit─► ResultPartition                                InputGate ─Next─► task
//	              └ subpartition ─► outgoing ══ link ══► incoming ┘
//	              └ subpartition ─────────── (same host) ─────────┘
//
// The consumer's host dials the producer's and asks for partitions by name, so
// there is one connection for each ordered pair of hosts; all channels of the
// pair share it. A connection costs two goroutines at each end, a channel none.
//
// # Memory
//
// Records travel in buffers of 32 KiB from one pool for each host. Each channel
// is guaranteed one buffer at each end that crosses the network: the one being
// filled at the producer, the one announced as credit at the consumer. What the
// pool has beyond all guarantees floats: a channel borrows up to seven more while
// it has something to send or to receive. A pool smaller than the sum of the
// guarantees grows to it, and says so in the log.
//
// Nothing can deadlock on buffers: a full guaranteed buffer waits only for the
// consumer's credit, that credit only for the consuming task to read its gate,
// and tasks form no cycle. A task with several gates must read them side by side.
//
// A buffer goes onto a connection only against a credit of its channel, that is,
// into memory set aside for it at the other end. So readers of connections never
// wait for tasks, and a slow consumer stalls its own producers and no one else.
//
// # Ends
//
// A channel ends with one End or Fail frame down and one Release frame up, in
// either order. A partition is drained when all its channels are released: its
// data is then in the memory of its consumers' hosts, and the producing host may
// go. A lost connection fails the tasks at both ends with ErrPeerLost.
//
// Of ours the package imports ids and dataflow/operator (whose interfaces it
// implements), jobgraph (for the protocol version), doorstep and liveness only.
package exchange
