package dataflow

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

// FunctionError is the error of a user's function. The attempt of its subtask fails with it.
type FunctionError struct {
	Operator    string // its name
	Subtask     int    // 0 ≤ Subtask < Parallelism
	Parallelism int
	// At says where the source was in its input, if it runs in the same goroutine: "reading hdfs://…, the line at byte 1200".
	At string
	// Element is the beginning of the element that was processed, at most 200 bytes. It is "" unless the option
	// pipeline.errors.show-element is true, because errors are in logs and on pages that others may read.
	Element string
	Err     error
}

func (e *FunctionError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%d/%d): %v", e.Operator, e.Subtask+1, e.Parallelism, e.Err)
	if e.At != "" {
		fmt.Fprintf(&b, "; %s", e.At)
	}
	if e.Element != "" {
		fmt.Fprintf(&b, "; the element: %s", e.Element)
	}
	return b.String()
}

// Unwrap returns the function's own error.
func (e *FunctionError) Unwrap() error { return e.Err }

// failed adds an operator to the error of its function.
func (c *chain) failed(name string, err error) *FunctionError {
	return &FunctionError{Operator: name, Subtask: c.subtask.Index(), Parallelism: c.subtask.Parallelism(), Err: err}
}

// caller is an operator in one subtask that calls functions of the user.
type caller struct {
	ctx   context.Context //nolint:containedctx // of the attempt
	chain *chain
	node  *node
}

// fault is the error of the operator for an error of a function that belongs to no element. An error after a cancellation is a
// consequence.
func (at caller) fault(err error) error {
	switch {
	case err == nil:
		return nil
	case at.ctx.Err() != nil:
		return context.Cause(at.ctx)
	default:
		return at.chain.failed(at.node.name, err)
	}
}

// faultAt is fault for an error that belongs to an element.
func faultAt[T any](at caller, v T, err error) error {
	if err == nil || at.ctx.Err() != nil {
		return at.fault(err)
	}
	e := at.chain.failed(at.node.name, err)
	e.At = at.chain.place()
	if at.node.plan.showElements {
		e.Element = shortened(v)
	}
	return e
}

// shownBytes bounds the text of an element in an error.
const shownBytes = 200

// shortened gives the beginning of an element as text.
func shortened[T any](v T) string {
	switch v := any(v).(type) {
	case []byte:
		return quoted(v[:min(len(v), shownBytes)], len(v) > shownBytes)
	case string:
		return quoted([]byte(v[:min(len(v), shownBytes)]), len(v) > shownBytes)
	}
	text := fmt.Sprintf("%+v", v)
	if len(text) <= shownBytes {
		return text
	}
	return whole([]byte(text[:shownBytes])) + "…"
}

func quoted(text []byte, cut bool) string {
	if !cut {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q…", whole(text))
}

// whole drops the bytes of a rune that was cut.
func whole(text []byte) string {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				text = text[:len(text)-n]
			}
			break
		}
	}
	return string(text)
}
