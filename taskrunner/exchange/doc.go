// Package exchange is the data plane between the task hosts of one job: it moves
// records from ResultPartitions to InputGates, over framed TCP between hosts and
// directly within one host, always against credits.
//
//	task ─Emit─► ResultPartition                                InputGate ─Next─► task
//	              └ subpartition ─► outgoing ══ link ══► incoming ┘
//	              └ subpartition ─────────── (same host) ─────────┘
//
// The consumer's host dials the producer's host and requests partitions by name.
// So each ordered pair of hosts has one connection, which all channels of the pair
// share. A connection costs two goroutines at each end, and up to 64 KiB for what it
// writes at once. A channel costs neither.
//
// # Memory
//
// Records travel in buffers of 32 KiB from one pool for each host. Each channel
// over the network has one guaranteed buffer at each end: the producer fills its
// buffer, and the consumer announces its buffer as credit. The other buffers of the
// pool float: a channel borrows up to 7 of them for its data, and up to 31 while half of
// the buffers are free. A consumer's end keeps up to 7 once data has come, as credit for
// more. If the pool is smaller than the sum of the guarantees, it grows to this sum, and
// the log says so.
//
// Buffers cannot cause a deadlock. A full guaranteed buffer waits only for the
// consumer's credit. This credit waits only for the consuming task to read its gate,
// and tasks form no cycle. A task with several gates must poll them all in turn, unless none of the others needs the
// producers of the one that it holds back.
//
// A buffer is sent only against a credit of its channel: the other end has reserved
// memory for it. So readers of connections never wait for tasks, and a slow consumer
// stalls only its own producers.
//
// # Ends
//
// A channel ends with one End or Fail frame down and one Release frame up, in
// either order. A partition is drained when all its channels are released. Then its
// data is in the memory of its consumers' hosts, and the producing host may end. A
// lost connection fails the tasks at both ends with ErrPeerLost. A consumer's host closes
// a connection that no channel has used for 10 s.
//
// # Finished partitions
//
// The output of a blocking edge is a BlockingPartition: a file that the task writes
// without waiting for consumers. When the task has ended, the Server of its worker
// sends it, with the same frames and credits. So its consumers may run later, and its
// host may end. A gate opens channels to finished partitions in bounded number. A
// channel may wait for credit for ever; a Server ends connections without a channel, and
// those whose host takes no data for which it has given credit. A
// Server without a partition, or with a damaged one, says so, and the consumer fails with
// PartitionLostError. A Server that has as many connections or channels of the job as it
// serves refuses further ones, and the gate asks again.
//
// Of Bobbin's packages it imports only ids, msg, taskrunner/partition, dataflow/operator
// (it implements its interfaces), jobgraph (for the protocol version), doorstep, liveness
// and pause.
package exchange
