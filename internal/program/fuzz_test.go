package program

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// FuzzMark looks for the SDK's mark in a file that is read in pieces. It would catch a program that
// is refused, or gets another version, because of the boundaries of the pieces.
func FuzzMark(f *testing.F) {
	mark := fmt.Sprint(markStart, jobgraph.ProtocolVersion, markEnd)
	f.Add([]byte("\x7fELF"+mark), uint8(7))
	f.Add([]byte(markStart+markStart+"-1>"+markStart+"0000000001>"+markStart+"2>"+mark), uint8(1))
	f.Add([]byte(markStart+"+3>"), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, piece uint8) {
		m := new(markFinder)
		for rest := data; len(rest) > 0; {
			n := min(len(rest), int(piece)+1)
			if taken, err := m.Write(rest[:n]); taken != n || err != nil {
				t.Fatalf("%d of %d bytes, %v", taken, n, err)
			}
			rest = rest[n:]
			if len(m.window) > len(markStart)+maxVersionDigits+len(markEnd) {
				t.Fatalf("%d bytes are kept", len(m.window))
			}
		}
		if whole := find(data, []byte(markStart)); whole != m.version {
			t.Errorf("version %d in one piece, %d in pieces of %d", whole, m.version, int(piece)+1)
		}
		if digits := fmt.Sprint(m.version, markEnd); m.version != 0 && !bytes.Contains(bytes.ReplaceAll(data, []byte("=0"), []byte("=")), []byte(digits)) {
			t.Errorf("version %d in %q", m.version, data)
		}
	})
}

// FuzzPlatform parses the head of any file. It would catch a head that crashes the client or fills
// its memory.
func FuzzPlatform(f *testing.F) {
	f.Add([]byte("#!/bin/sh\n"))
	f.Add([]byte("\x7fELF\x02\x01\x01" + string(make([]byte, 60))))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := CheckPlatform(data, elf.EM_X86_64); err != nil && !errors.Is(err, ErrPlatform) && !errors.Is(err, ErrNoProgram) {
			t.Errorf("error %v is neither ErrPlatform nor ErrNoProgram", err)
		}
	})
}
