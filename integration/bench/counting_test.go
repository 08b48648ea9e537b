package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// profileOf makes a profile in the form of pprof, compressed as runtime/pprof writes it. Each stack has its innermost function
// first, and counts as many samples as its place, from 1.
func profileOf(t *testing.T, stacks ...[]string) []byte {
	t.Helper()
	texts := []string{"", "samples", "count"}
	var profile, functions []byte
	message := func(b []byte, number protowire.Number, part []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), part)
	}
	number := func(b []byte, number protowire.Number, value uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), value)
	}
	profile = message(profile, 1, number(number(nil, 1, 1), 2, 2))
	known := make(map[string]uint64)
	for i, stack := range stacks {
		var locations []byte
		for _, name := range stack {
			id, is := known[name]
			if !is {
				id = uint64(len(known) + 1)
				known[name] = id
				texts = append(texts, name)
				functions = message(functions, 4, message(number(nil, 1, id), 4, number(nil, 1, id)))
				functions = message(functions, 5, number(number(nil, 1, id), 2, uint64(len(texts)-1)))
			}
			locations = protowire.AppendVarint(locations, id)
		}
		profile = message(profile, 2, message(message(nil, 1, locations), 2, protowire.AppendVarint(nil, uint64(i+1))))
	}
	profile = append(profile, functions...)
	for _, text := range texts {
		profile = message(profile, 6, []byte(text))
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	if _, err := w.Write(profile); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return compressed.Bytes()
}

// TestTheShareOfCountingIsFound would catch a sample that counts twice because two of its functions count, one whose inner function
// is of another package, such as the clock, and a function of another package with a similar name.
func TestTheShareOfCountingIsFound(t *testing.T) {
	t.Parallel()
	const host, exchange = "github.com/bobbin-yarn/bobbin/taskrunner/taskhost.", "github.com/bobbin-yarn/bobbin/taskrunner/exchange."
	profile := profileOf(t,
		[]string{"time.now", host + "(*activity).turn", host + "waits.Wait", exchange + "(*InputGate).Next"},                             // 1
		[]string{exchange + "(*InputGate).Traffic", host + "(*task).metrics"},                                                            // 2
		[]string{"syscall.Syscall", exchange + "(*ResultPartition).Emit"},                                                                // 3
		[]string{"github.com/bobbin-yarn/bobbin/internal/metrics.(*Counter).Add", "main.main"},                                           // 4
		[]string{"github.com/bobbin-yarn/bobbin/internal/metricsfake.Add", host + "(*tasks).metrics", exchange + "(*InputGate).Waiting"}, // 5
	)
	got, err := shareOf(profile, "samples", counts)
	if want := (1. + 2 + 4) / (1 + 2 + 3 + 4 + 5); err != nil || math.Abs(got-want) > 1e-9 {
		t.Errorf("share %v, want %v; error %v", got, want, err)
	}
	if _, err := shareOf(profileOf(t), "samples", counts); !errors.Is(err, errNoSamples) {
		t.Errorf("of no samples: error %v", err)
	}
	if _, err := shareOf([]byte("no profile"), "samples", counts); err == nil {
		t.Error("a text counts as a profile")
	}
}
