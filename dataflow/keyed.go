package dataflow

import (
	"errors"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
)

// Keyed is a stream whose elements are grouped by a key. Keys are equal if their
// encodings are equal; see codec.KeyFor.
type Keyed[K, T any] struct {
	stream Stream[T]
	key    func(T) K
	codec  func() (Codec[K], error)
}

// KeyBy groups a stream by a key, which must depend only on the element.
func KeyBy[T, K any](s Stream[T], key func(T) K, o ...Option) Keyed[K, T] {
	set := s.out.node.plan.settle("key by", optionCodec, o, key)
	k := Keyed[K, T]{stream: s, key: key, codec: codec.KeyFor[K]}
	if set.codec != nil {
		given, ok := set.codec.(Codec[K])
		if !ok {
			s.out.node.plan.fault(errors.New("key by: option WithCodec has a codec for another type than the key's"))
		}
		k.codec = func() (Codec[K], error) { return given, nil }
	}
	return k
}

// Count counts the elements of each key.
//
// Like Sum and Reduce, Count emits one result for each key when the input has
// ended. Producers combine elements before the exchange, in bounded memory. After
// the exchange, each subtask holds its keys and their values. It writes them to files
// on the worker's disks when they exceed its share of the worker's memory. If a single
// key with its value is too large, the job fails with ErrTooLargeForMemory.
func Count[K, T any](k Keyed[K, T], o ...Option) Stream[KV[K, int64]] {
	return aggregate(k, k.settle("count", o), asPairs[K](codec.For[int64], func(caller, Codec[int64]) folds[T, int64] {
		return folds[T, int64]{
			element: func(count *int64, _ T, _ bool) error { *count++; return nil },
			partial: func(count *int64, more int64, _ bool) error { *count += more; return nil },
		}
	}))
}

// settle applies the options of an operator that aggregates.
func (k Keyed[K, T]) settle(kind string, o []Option, functions ...any) settings {
	return k.stream.out.node.plan.settle(kind, forStreams, o, functions...)
}

// Number is a type that Sum can add. Integers overflow as in Go: they wrap
// around.
type Number interface {
	int | int8 | int16 | int32 | int64 | uint | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// Sum adds up value(element) over the elements of each key.
func Sum[K, T any, N Number](k Keyed[K, T], value func(T) N, o ...Option) Stream[KV[K, N]] {
	return aggregate(k, k.settle("sum", o, value), asPairs[K](codec.For[N], func(caller, Codec[N]) folds[T, N] {
		return folds[T, N]{
			element: func(sum *N, v T, _ bool) error { *sum += value(v); return nil },
			partial: func(sum *N, more N, _ bool) error { *sum += more; return nil },
		}
	}))
}

// Reduce combines the elements of each key, two at a time, into one; a single
// element stays as it is. combine must be associative and commutative, because
// elements arrive in any order. It may change its first argument and what that
// points to, and return it. It must not change its second argument, nor keep it.
// If combine changes what its first argument points to, it must not return its
// second one, because other consumers of the stream may have that, too.
func Reduce[K, T any](k Keyed[K, T], combine func(a, b T) T, o ...Option) Stream[KV[K, T]] {
	return aggregate(k, k.settle("reduce", o, combine), asPairs[K](k.stream.codec, func(_ caller, c Codec[T]) folds[T, T] {
		fold := func(reduced *T, v T) (err error) {
			*reduced, err = c.Owned(combine(*reduced, v))
			return err
		}
		return folds[T, T]{
			element: func(reduced *T, v T, fresh bool) (err error) {
				if fresh { // others may have it, and combine may change it
					*reduced, err = c.Copy(v)
					return err
				}
				return fold(reduced, v)
			},
			partial: func(reduced *T, v T, fresh bool) (err error) {
				if fresh {
					*reduced, err = c.Owned(v)
					return err
				}
				return fold(reduced, v)
			},
		}
	}))
}
