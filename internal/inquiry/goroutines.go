package inquiry

import (
	"bytes"
	"fmt"
	"runtime"
)

// noteLength is room for the note that stacks are missing, in bytes.
const noteLength = 128

// goroutines returns the stacks of all goroutines, a blank line between two, as Go prints them at a crash.
// They have the given number of bytes at most: then the last ones are missing, and a note says so. The
// process stops for the time that this takes, which is a millisecond for some hundred goroutines.
func goroutines(most int) []byte {
	stacks := make([]byte, most-noteLength)
	n := runtime.Stack(stacks, true)
	if n < len(stacks) {
		return bytes.TrimSpace(stacks[:n])
	}
	if end := bytes.LastIndex(stacks, []byte("\n\n")); end > 0 {
		stacks = stacks[:end]
	}
	return fmt.Appendf(bytes.TrimSpace(stacks), "\n\n(cut: there are %d goroutines, and their stacks exceed %d bytes)", runtime.NumGoroutine(), most)
}
