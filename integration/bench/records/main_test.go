package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain makes the test binary the child too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asProducer {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// TestAllRecordsArrive would catch ends that do not agree about the number of records, a connection that is not the one
// that its name says, and a usage without that of the child.
func TestAllRecordsArrive(t *testing.T) {
	for _, p := range []plan{
		{Size: 16, Bytes: 100_000},
		{Size: 40_000, Bytes: 1_000_000, Plain: true},
		{Size: 100, Bytes: 100_000, Raw: true},
		{Size: 100, Bytes: 99, Raw: true, Plain: true}, // less than one record: one record
	} {
		t.Run(fmt.Sprintf("%+v", p), func(t *testing.T) {
			moved, err := consume(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			records := max(1, p.Bytes/int64(p.Size))
			if moved.Records != records || moved.Bytes != records*int64(p.Size) || moved.Took <= 0 || moved.Peak == 0 {
				t.Errorf("%+v, want %d records", moved, records)
			}
		})
	}
}

// TestProducersOfAnotherApplicationAreRefused would catch TLS that checks no identity, so that a measurement would be of
// another protocol than that of task hosts.
func TestProducersOfAnotherApplicationAreRefused(t *testing.T) {
	for _, raw := range []bool{false, true} {
		p := plan{Size: 16, Bytes: 1000, Raw: raw}
		_, theirs, err := identities(p)
		if err != nil {
			t.Fatal(err)
		}
		stranger, _, err := identities(p)
		if err != nil {
			t.Fatal(err)
		}
		c, err := startProducer(t.Context(), assignment{p, theirs})
		if err != nil {
			t.Fatal(err)
		}
		var hello introduction
		if err := c.out.Decode(&hello); err != nil {
			t.Fatal(err)
		}
		from, err := newReceiver(t.Context(), p, hello.Address, stranger)
		if err != nil {
			t.Fatal(err)
		}
		if moved, err := c.receive(t.Context(), p, from, measured); err == nil {
			t.Errorf("raw %v: a stranger has received %+v", raw, moved)
		}
		if err := from.close(); err != nil {
			t.Error(err)
		}
		_ = c.command.Process.Kill() // it may wait for a consumer
		_ = c.stop()                 // the error says that it was killed
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, line := range []string{"-size 0", "-bytes 0", "-bytes x", "more", "-x"} {
		if p, err := parse(strings.Fields(line)); err == nil {
			t.Errorf("%q is parsed as %+v", line, p)
		}
	}
	p, err := parse(strings.Fields("-size 7 -bytes 70 -raw -plain"))
	if want := (plan{Size: 7, Bytes: 70, Raw: true, Plain: true}); err != nil || p != want {
		t.Errorf("%+v, %v", p, err)
	}
}
