package logging

import (
	"strings"
	"testing"
)

// FuzzTail writes any output of a task host, in pieces. It would catch output that fills the
// TaskExecutor's memory, and last lines that are not the last.
func FuzzTail(f *testing.F) {
	f.Add("one\ntwo", "panic: boom\n\ngoroutine 1 [running]:\n", uint16(3))
	f.Add(strings.Repeat("x", 9<<10), strings.Repeat("\n", 100), uint16(1))
	f.Fuzz(func(t *testing.T, stdout, stderr string, times uint16) {
		var tail Tail
		out, err := tail.Source(), tail.Source()
		for range times%64 + 1 {
			for _, write := range []func() (int, error){
				func() (int, error) { return out.Write([]byte(stdout)) },
				func() (int, error) { return err.Write([]byte(stderr)) },
			} {
				if _, err := write(); err != nil {
					t.Fatal(err)
				}
			}
			if len(tail.lines) > tailLines || tail.bytes > tailBytes+1 || len(tail.Crash()) > crashBytes {
				t.Fatalf("%d lines of %d bytes are kept, and a crash of %d", len(tail.lines), tail.bytes, len(tail.Crash()))
			}
		}
		text := tail.String()
		if len(text) > tailBytes {
			t.Errorf("the tail has %d bytes", len(text))
		}
		if last := stderr[strings.LastIndexByte(stderr, '\n')+1:]; len(last) < tailBytes && last != "" && times%64 == 0 && !strings.HasSuffix(text, last) {
			t.Errorf("the tail ends %.100q, not with %.100q", text, last)
		}
	})
}
