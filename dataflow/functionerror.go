package dataflow

import (
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
