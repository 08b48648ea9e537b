package main

import (
	"strconv"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

// OneInput are the arguments of a job with one input.
type OneInput struct{ Input, Output string }

// TwoInputs are the arguments of a job with two inputs.
type TwoInputs struct{ Left, Right, Output string }

// keySize is the number of bytes of a key.
const keySize = 10

// keyOf returns the key of a line. A shorter line is a key.
func keyOf(line []byte) []byte { return line[:min(keySize, len(line))] }

// Sort sorts lines by their keys.
var Sort = dataflow.Job("sort", func(p *dataflow.Plan, a OneInput) error {
	sorted := dataflow.Sort(dataflow.ReadText(p, a.Input), keyOf)
	dataflow.WriteText(sorted, a.Output, func(dst, line []byte) []byte { return append(dst, line...) })
	return nil
})

// Join writes a line for each pair of lines with the same key: the left line, and what follows the key in the right one.
var Join = dataflow.Job("join", func(p *dataflow.Plan, a TwoInputs) error {
	left := dataflow.KeyBy(dataflow.ReadText(p, a.Left), keyOf)
	right := dataflow.KeyBy(dataflow.ReadText(p, a.Right), keyOf)
	pairs := dataflow.Join(left, right, func(left, right []byte, emit func(dataflow.KV[[]byte, []byte])) {
		emit(dataflow.KV[[]byte, []byte]{Key: left, Value: right[len(keyOf(right)):]})
	})
	dataflow.WriteText(pairs, a.Output, func(dst []byte, pair dataflow.KV[[]byte, []byte]) []byte {
		return append(append(dst, pair.Key...), pair.Value...)
	})
	return nil
})

// Group counts the lines of each key.
var Group = dataflow.Job("group", func(p *dataflow.Plan, a OneInput) error {
	counts := dataflow.Count(dataflow.KeyBy(dataflow.ReadText(p, a.Input), keyOf))
	dataflow.WriteText(counts, a.Output, func(dst []byte, count dataflow.KV[[]byte, int64]) []byte {
		return strconv.AppendInt(append(append(dst, count.Key...), '\t'), count.Value, 10)
	})
	return nil
})
