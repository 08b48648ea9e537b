package dataflow

import "cmp"

// Max emits for each key the element with the largest value, when the input has ended. Values compare as with cmp.Compare. Of
// several elements with the same value it emits the one whose encoding is the smallest. So the result is the same in each run, unless
// the elements have maps, whose entries are encoded in any order. It combines elements and uses memory like Count. value must not
// change its element.
func Max[K, T any, V cmp.Ordered](k Keyed[K, T], value func(T) V, o ...Option) Stream[KV[K, T]] {
	return first(k, "max", value, By(value), o)
}

// Min is Max for the smallest value.
func Min[K, T any, V cmp.Ordered](k Keyed[K, T], value func(T) V, o ...Option) Stream[KV[K, T]] {
	return first(k, "min", value, func(a, b T) int { return cmp.Compare(value(b), value(a)) }, o)
}

// first emits the first element of each key, the largest one first. value is the function of the user that compare calls.
func first[K, T, V any](k Keyed[K, T], kind string, value func(T) V, compare func(a, b T) int, o []Option) Stream[KV[K, T]] {
	return aggregate(k, k.settle(kind, o, value), asPairs[K](k.stream.codec, func(_ caller, c Codec[T]) folds[T, T] {
		rank := &ranking[T]{compare: compare, codec: c}
		fold := func(first *T, v T, fresh bool) (err error) {
			if !fresh {
				if better, err := rank.before(v, *first); err != nil || !better {
					return err
				}
			}
			*first, err = c.Owned(v)
			return err
		}
		return folds[T, T]{element: fold, partial: fold}
	}))
}
