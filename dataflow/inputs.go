package dataflow

import (
	"context"

	"github.com/cespare/xxhash/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
)

// keyedRecords adds an operator that encodes the elements of a keyed stream as pairs of the key and the element.
func keyedRecords[K, T any](k Keyed[K, T], name string, keys *Codec[K], values *Codec[T], to route) *port {
	upstream := k.stream.out.node
	n := &node{name: name, parallelism: upstream.parallelism, inputs: []connection{{from: k.stream.out}}}
	upstream.plan.add(n)
	encoding := codec.OfKV(*keys, *values).Name
	if to != byKey {
		n.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
			emit := down.(func([]byte))
			return pairs(caller{ctx, c, n}, k.key, keys, values, func(_, record []byte) { emit(record) }), idle{}
		}
		n.out = recordsPort(n, encoding, to)
		return n.out
	}
	n.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		emit := down.(func(keyedRecord))
		return pairs(caller{ctx, c, n}, k.key, keys, values, func(key, record []byte) { emit(keyedRecord{xxhash.Sum64(key), record}) }), idle{}
	}
	n.out = keyedPort(n, encoding)
	return n.out
}

// keyEncoder returns a function that encodes the key of an element, which is valid until the next call. It uses the codec's View if
// there is one, which saves a copy of the key.
func keyEncoder[K, T any](keys *Codec[K], keyOf func(T) K) func(T) ([]byte, error) {
	if view := keys.View; view != nil {
		return func(v T) ([]byte, error) { return view(keyOf(v)), nil }
	}
	var scratch []byte
	return func(v T) ([]byte, error) {
		key, err := keys.Append(scratch[:0], keyOf(v))
		if err == nil {
			scratch = key
		}
		return key, err
	}
}

// pairs returns a function that takes elements, and encodes them as pairs of their key and themselves. emit gets the key and the pair,
// and may use them until it returns.
func pairs[K, T any](at caller, keyOf func(T) K, keys *Codec[K], values *Codec[T], emit func(key, record []byte)) func(T) {
	encode := keyEncoder(keys, keyOf)
	var record []byte
	return func(v T) {
		if at.chain.err != nil {
			return
		}
		key, err := encode(v)
		if err == nil {
			var encoded []byte
			if encoded, err = values.Append(codec.AppendKey(record[:0], key), v); err == nil {
				record = encoded
				emit(key, record)
				return
			}
		}
		at.chain.fail(failedAt(at, v, err))
	}
}
