package dataflow

import "github.com/bobbin-yarn/bobbin/dataflow/codec"

// Distinct emits each element once, when the input has ended. Elements are the same if their encodings as keys are the same, and
// come back as keys do; see codec.KeyFor. The option WithCodec sets another encoding. Distinct combines elements and uses memory
// like Count.
func Distinct[T any](s Stream[T], o ...Option) Stream[T] {
	k := KeyBy(s, Identity)
	set := k.settle("distinct", o)
	if given, is := set.codec.(Codec[T]); is { // newStream reports another one
		k.codec = func() (Codec[T], error) { return given, nil }
	}
	type none = struct{}
	return aggregate(k, set, aggregation[T, T, none, T]{
		accumulators: codec.For[none],
		folds: func(caller, Codec[none]) folds[T, none] {
			return folds[T, none]{
				element: func(*none, T, bool) error { return nil },
				partial: func(*none, none, bool) error { return nil },
			}
		},
		emit: func(_ caller, down func(T)) func(KV[T, none]) {
			return func(kv KV[T, none]) { down(kv.Key) }
		},
		results: func(keys Codec[T], _ Codec[none]) (Codec[T], error) { return keys, nil },
	})
}
