package dataflow

import (
	"fmt"
	"slices"
	"sort"
	"unsafe"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
)

// TopN emits for each key its n largest elements, or all if there are fewer, when the input has ended. compare returns a negative
// number if a is less than b, and a positive one if it is greater; see By. The largest element is the first one. Elements for which
// compare returns 0 come in the order of their encodings. So the result is the same in each run, unless the elements have maps, whose
// entries are encoded in any order. compare must not change its arguments.
//
// TopN combines elements before the exchange like Count. The n elements of a key are its accumulator: see ErrTooLargeForMemory.
// It is meant for an n of up to some thousands: the time for an element grows with n.
func TopN[K, T any](k Keyed[K, T], n int, compare func(a, b T) int, o ...Option) Stream[KV[K, []T]] {
	set := k.settle("top n", o, compare)
	return aggregate(k, set, topN(k, set, n, compare, func(down func(KV[K, []T])) func(KV[K, top[T]]) {
		return func(kv KV[K, top[T]]) { down(KV[K, []T]{Key: kv.Key, Value: kv.Value.items}) }
	}, func(keys Codec[K], elements Codec[T]) Codec[KV[K, []T]] {
		return codec.OfKV(keys, codec.OfSlice(elements))
	}))
}

// TopNOfAll emits the n largest elements of a stream, the largest first, when the input has ended. It is TopN for all elements: each
// subtask combines its own, and one subtask combines what the others send.
func TopNOfAll[T any](s Stream[T], n int, compare func(a, b T) int, o ...Option) Stream[T] {
	k := KeyBy(s, func(T) struct{} { return struct{}{} })
	set := s.out.node.plan.settle("top n", forStreams&^optionParallelism, o, compare)
	set.parallelism = 1
	return aggregate(k, set, topN(k, set, n, compare, func(down func(T)) func(KV[struct{}, top[T]]) {
		return func(kv KV[struct{}, top[T]]) {
			for _, v := range kv.Value.items {
				down(v)
			}
		}
	}, func(_ Codec[struct{}], elements Codec[T]) Codec[T] { return elements }))
}

// topN is the aggregation of TopN.
func topN[K, T, R any](
	k Keyed[K, T], set settings, n int, compare func(a, b T) int, emit func(down func(R)) func(KV[K, top[T]]), results func(Codec[K], Codec[T]) Codec[R],
) aggregation[K, T, top[T], R] {
	if n < 1 {
		k.stream.out.node.plan.fault(fmt.Errorf("%s: the number of elements is %d, and must be at least 1", set.name, n))
	}
	var elements Codec[T]
	return aggregation[K, T, top[T], R]{
		accumulators: func() (_ Codec[top[T]], err error) {
			elements, err = k.stream.codec()
			return codecOfTop(elements), err
		},
		folds: func(caller, Codec[top[T]]) folds[T, top[T]] {
			adder := &topAdder[T]{n: n, rank: ranking[T]{compare: compare, codec: elements}}
			return folds[T, top[T]]{
				element: func(acc *top[T], v T, _ bool) error {
					_, err := adder.add(acc, v)
					return err
				},
				partial: func(acc *top[T], v top[T], _ bool) error { return adder.merge(acc, v) },
			}
		},
		emit:    func(_ caller, down func(R)) func(KV[K, top[T]]) { return emit(down) },
		results: func(keys Codec[K], _ Codec[top[T]]) (Codec[R], error) { return results(keys, elements), nil },
	}
}

// top are the largest elements of a key, the largest first.
type top[T any] struct {
	items []T
	bytes int64 // to which the items refer
}

// codecOfTop knows the memory of a top without a look at each item.
func codecOfTop[T any](elements Codec[T]) Codec[top[T]] {
	list := codec.OfSlice(elements)
	return Codec[top[T]]{
		Name:   list.Name,
		Append: func(dst []byte, t top[T]) ([]byte, error) { return list.Append(dst, t.items) },
		Decode: func(src []byte) (top[T], error) {
			items, err := list.Decode(src)
			return top[T]{items: items}, err // which is added to another one
		},
		Size: func(t top[T]) int64 { return t.bytes + int64(cap(t.items))*int64(unsafe.Sizeof(*new(T))) },
	}
}

// topAdder adds to the tops of one subtask.
type topAdder[T any] struct {
	n    int
	rank ranking[T]
}

// add adds an element, unless there are n larger ones.
func (a *topAdder[T]) add(t *top[T], v T) (added bool, err error) {
	at := sort.Search(len(t.items), func(i int) bool {
		before, failed := a.rank.before(v, t.items[i])
		if failed != nil {
			err = failed
		}
		return before
	})
	if err != nil || at == a.n {
		return false, err
	}
	if v, err = a.rank.codec.Owned(v); err != nil {
		return false, err
	}
	if last := a.n - 1; len(t.items) == a.n {
		t.bytes -= a.size(t.items[last])
		t.items = t.items[:last]
	}
	t.items = slices.Insert(t.items, at, v)
	t.bytes += a.size(v)
	return true, nil
}

// merge adds the elements of another top.
func (a *topAdder[T]) merge(t *top[T], other top[T]) error {
	for _, v := range other.items {
		if added, err := a.add(t, v); err != nil || !added {
			return err // the ones behind it are smaller
		}
	}
	return nil
}

func (a *topAdder[T]) size(v T) int64 {
	if a.rank.codec.Size == nil {
		return 0
	}
	return a.rank.codec.Size(v)
}
