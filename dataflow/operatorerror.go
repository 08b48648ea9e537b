package dataflow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// OperatorError is the error of an operator in one attempt of a subtask, which fails with it. It is an error of what the operator
// calls: a function of the user, a source, a sink, a codec, or the files to which the operator spills.
type OperatorError struct {
	Operator    string // its name
	Subtask     int    // 0 ≤ Subtask < Parallelism
	Parallelism int
	// At says where the source was in its input, if it runs in the same goroutine: "reading hdfs://…, the line at byte 1200".
	At string
	// Element is the beginning of the element that was processed, at most 200 bytes; of a pair of a join, the beginning of both. It is
	// "" unless the option pipeline.errors.show-element is true, because errors are in logs and on pages that others may read.
	Element string
	// Key is the beginning of the key, if the function was called for a key and not for an element. Otherwise it is like Element.
	Key string
	Err error
}

func (e *OperatorError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%d/%d): %v", e.Operator, e.Subtask+1, e.Parallelism, e.Err)
	if e.At != "" {
		fmt.Fprintf(&b, "; %s", e.At)
	}
	if e.Element != "" {
		fmt.Fprintf(&b, "; the element: %s", e.Element)
	}
	if e.Key != "" {
		fmt.Fprintf(&b, "; the key: %s", e.Key)
	}
	return b.String()
}

// Unwrap returns the error without its place.
func (e *OperatorError) Unwrap() error { return e.Err }

// caller is an operator in one subtask that calls the code of others.
type caller struct {
	ctx   context.Context //nolint:containedctx // of the attempt
	chain *chain
	node  *node
}

// failed is the error of the operator for an error that belongs to no element and no key. An error that has its operator stays as it is.
func (at caller) failed(err error) error {
	if isNamed(err) {
		return err
	}
	return at.named(err)
}

// failedAt is failed for an error that belongs to an element.
func failedAt[T any](at caller, v T, err error) error {
	return at.failedShowing(err, func(e *OperatorError) { e.Element = shortened(v) })
}

// failedAtPair is failed for an error that belongs to a pair of a join. One of both may be nil: there is no partner.
func failedAtPair[A, B any](at caller, left *A, right *B, err error) error {
	return at.failedShowing(err, func(e *OperatorError) { e.Element = shortenedOrNil(left) + " and " + shortenedOrNil(right) })
}

// failedAtKey is failed for an error that belongs to a key.
func failedAtKey[K any](at caller, key K, err error) error {
	return at.failedShowing(err, func(e *OperatorError) { e.Key = shortened(key) })
}

// failedShowing is failed, with the place of the source. show adds what was processed, if the user allows it.
func (at caller) failedShowing(err error, show func(*OperatorError)) error {
	if isNamed(err) {
		return err
	}
	e := at.named(err)
	e.At = at.chain.place()
	if at.node.plan.showElements {
		show(e)
	}
	return e
}

// isNamed reports whether an error needs no operator: it has one, or there is no error.
func isNamed(err error) bool {
	var named *OperatorError
	return err == nil || errors.As(err, &named)
}

func (at caller) named(err error) *OperatorError {
	if errors.Is(err, spill.ErrTooLarge) { // the record is so in each attempt
		err = operator.Permanent(err)
	}
	return &OperatorError{Operator: at.node.name, Subtask: at.chain.subtask.Index(), Parallelism: at.chain.subtask.Parallelism(), Err: err}
}

// fail makes the attempt fail with the error of the operator.
func (at caller) fail(err error) { at.chain.fail(at.failed(err)) }

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

// shortenedOrNil is shortened for an element that a pair may lack.
func shortenedOrNil[T any](v *T) string {
	if v == nil {
		return "nil"
	}
	return shortened(*v)
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
