package dataflow

import (
	"context"
	"fmt"
)

// Join pairs the elements of two streams that have the same key, and calls f for each pair, in no defined order. A pair's elements
// belong to f until it returns, but f must not change what they point to, because they may be part of other pairs.
//
// Any key may have more elements on both sides than the worker has memory: see Hint for how a join works, and for the choice if
// there is no hint. Both streams must have the same codec for keys. f must not call emit after it has returned.
func Join[K, A, B, U any](left Keyed[K, A], right Keyed[K, B], f func(left A, right B, emit func(U)), o ...Option) Stream[U] {
	return join(left, right, inner, o, f, func(_ context.Context, a *A, b *B, emit func(U)) error { f(*a, *b, emit); return nil })
}

// LeftJoin is Join that also calls f for each element of left whose key right does not have: then right is nil. The pointer is valid
// until f returns.
func LeftJoin[K, A, B, U any](left Keyed[K, A], right Keyed[K, B], f func(left A, right *B, emit func(U)), o ...Option) Stream[U] {
	return join(left, right, leftOuter, o, f, func(_ context.Context, a *A, b *B, emit func(U)) error { f(*a, b, emit); return nil })
}

// RightJoin is Join that also calls f for each element of right whose key left does not have: then left is nil. The pointer is valid
// until f returns.
func RightJoin[K, A, B, U any](left Keyed[K, A], right Keyed[K, B], f func(left *A, right B, emit func(U)), o ...Option) Stream[U] {
	return join(left, right, rightOuter, o, f, func(_ context.Context, a *A, b *B, emit func(U)) error { f(a, *b, emit); return nil })
}

// FullJoin is Join that also calls f for each element whose key the other side does not have: then the other pointer is nil. The
// pointers are valid until f returns.
func FullJoin[K, A, B, U any](left Keyed[K, A], right Keyed[K, B], f func(left *A, right *B, emit func(U)), o ...Option) Stream[U] {
	return join(left, right, fullOuter, o, f, func(_ context.Context, a *A, b *B, emit func(U)) error { f(a, b, emit); return nil })
}

// TryJoin is Join with a function that may fail.
func TryJoin[K, A, B, U any](left Keyed[K, A], right Keyed[K, B], f func(ctx context.Context, left A, right B, emit func(U)) error, o ...Option) Stream[U] {
	return join(left, right, inner, o, f, func(ctx context.Context, a *A, b *B, emit func(U)) error { return f(ctx, *a, *b, emit) })
}

// TryLeftJoin is LeftJoin with a function that may fail.
func TryLeftJoin[K, A, B, U any](left Keyed[K, A], right Keyed[K, B], f func(ctx context.Context, left A, right *B, emit func(U)) error, o ...Option) Stream[U] {
	return join(left, right, leftOuter, o, f, func(ctx context.Context, a *A, b *B, emit func(U)) error { return f(ctx, *a, b, emit) })
}

// TryRightJoin is RightJoin with a function that may fail.
func TryRightJoin[K, A, B, U any](left Keyed[K, A], right Keyed[K, B], f func(ctx context.Context, left *A, right B, emit func(U)) error, o ...Option) Stream[U] {
	return join(left, right, rightOuter, o, f, func(ctx context.Context, a *A, b *B, emit func(U)) error { return f(ctx, a, *b, emit) })
}

// TryFullJoin is FullJoin with a function that may fail.
func TryFullJoin[K, A, B, U any](left Keyed[K, A], right Keyed[K, B], f func(ctx context.Context, left *A, right *B, emit func(U)) error, o ...Option) Stream[U] {
	return join(left, right, fullOuter, o, f, f)
}

// JoinHint is a way to join two streams.
type JoinHint int

const (
	// BroadcastLeft sends the left stream to each subtask of the join, which holds it in a hash table, and leaves the right stream
	// where it is (Flink's BROADCAST_HASH_FIRST). It is best if the left stream is small. LeftJoin and FullJoin do not have it.
	BroadcastLeft JoinHint = iota + 1
	// BroadcastRight is BroadcastLeft with the sides exchanged (BROADCAST_HASH_SECOND). RightJoin and FullJoin do not have it.
	BroadcastRight
	// HashLeft sends both streams to the subtasks by their keys, and holds the left stream in a hash table there
	// (REPARTITION_HASH_FIRST). It reads the left stream first. The part that exceeds memory goes to files with its partners.
	HashLeft
	// HashRight is HashLeft with the sides exchanged (REPARTITION_HASH_SECOND).
	HashRight
	// SortMerge sends both streams to the subtasks by their keys, and sorts them there (REPARTITION_SORT_MERGE). It reads both at
	// the same time.
	SortMerge
)

func (h JoinHint) String() string {
	switch h {
	case BroadcastLeft:
		return "broadcast hash: build side is left"
	case BroadcastRight:
		return "broadcast hash: build side is right"
	case HashLeft:
		return "hybrid hash: build side is left"
	case HashRight:
		return "hybrid hash: build side is right"
	case SortMerge:
		return "sort-merge"
	default:
		return fmt.Sprintf("JoinHint(%d)", int(h))
	}
}

// Hint sets how a join works. Without it, the sizes of the files above the two sides decide when the job is submitted: the smaller
// side is held in memory. If it is not larger than the option table.optimizer.join.broadcast-threshold, it is broadcast. The size of
// a compressed file is that of the file. If the size of a side is not known, the other side is broadcast if it is small enough;
// otherwise the right side is held in memory, as by HashRight.
func Hint(h JoinHint) Option {
	return Option{optionHint, func(s *settings) { s.hint = h }}
}
