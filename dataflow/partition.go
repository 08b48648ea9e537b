package dataflow

import (
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Rebalance deals the elements of each subtask out to all subtasks of the next operators, in turns. Use it when some subtasks have
// much more work than others. Operators behind it that have its parallelism run in the same goroutine.
//
// Without Rebalance or Partition, elements stay in their subtask if the next operator has the same parallelism, and are dealt out
// in turns if not.
func Rebalance[T any](s Stream[T], o ...Option) Stream[T] {
	set := s.out.node.plan.settle("rebalance", forStreams, o)
	return exchanged(s.out, set, s.codec)
}

// ErrNoChannel says that the function of Partition has chosen a channel that does not exist. It is a permanent failure.
var ErrNoChannel = errors.New("no such channel")

// Partition sends each element to the subtask that channel chooses, 0 ≤ result < channels. channels is the parallelism of
// Partition. Operators behind it that have its parallelism run in the same goroutines, so the elements stay where they are.
// channel must depend only on its arguments. If its result is out of range, the job fails with ErrNoChannel.
func Partition[T any](s Stream[T], channel func(v T, channels int) int, o ...Option) Stream[T] {
	set := s.out.node.plan.settle("partition", forStreams, o, channel)
	before := relay(s, set.name+" (choose)")
	before.out = newPortTo(before, s.codec, func(at caller, elements codec.Codec[T], w operator.RecordWriter) func(T) {
		return sent(at, elements, w, func(v T) (int, error) {
			chosen := channel(v, w.Channels())
			if chosen < 0 || chosen >= w.Channels() {
				return 0, operator.Permanent(fmt.Errorf("%w: the function chose channel %d, and it must be at least 0 and less than %d",
					ErrNoChannel, chosen, w.Channels()))
			}
			return chosen, nil
		})
	})
	before.out.ship = jobgraph.ShipCustom
	return exchanged(before.out, set, s.codec)
}

// exchanged adds an operator that takes elements from all subtasks of a port's operator, and passes them on.
func exchanged[T any](from *port, set settings, c func() (Codec[T], error)) Stream[T] {
	n := &node{
		name: set.name, parallelism: set.parallelism, placement: set.placement, inputs: []connection{{from: from, exchange: true}},
		attach: passOn,
	}
	from.node.plan.add(n)
	return newStream(n, set, c)
}
