package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTheExchangeIsComparedWithTheBareConnection would catch a share of another transport or of another unit, and a goal that is
// missed without a mark.
func TestTheExchangeIsComparedWithTheBareConnection(t *testing.T) {
	t.Parallel()
	run := func(size int64, took, cpu time.Duration) []moved {
		return []moved{{Records: 100e6 / size, Bytes: 100e6, Took: took, CPU: cpu, Peak: 8 << 20}}
	}
	var got table
	transport{"TLS", map[int][]moved{
		0:      run(1000, 100*time.Millisecond, 150*time.Millisecond),
		16:     run(16, time.Second, 187_500*time.Microsecond), // 30 ns
		100:    run(100, time.Second, time.Second),
		1000:   run(1000, 200*time.Millisecond, 300*time.Millisecond),
		10_000: run(10_000, 125*time.Millisecond, 160*time.Millisecond),
	}}.rows(&got)
	want := [][]string{
		{"TLS", "raw", "", "1000 MB/s", "", "", "1500 µs", "8.0 MiB"},
		{"TLS", "16", "30 ns", "100 MB/s", "10 %", "30.0 ns", "1875 µs", "8.0 MiB"},
		{"TLS", "100", "", "100 MB/s", "10 %", "1000 ns", "10000 µs", "8.0 MiB"},
		{"**TLS**", "**1000**", "**60 % of raw**", "**500 MB/s**", "**50 %**", "**3000 ns**", "**3000 µs**", "**8.0 MiB**"},
		{"TLS", "10000", "60 % of raw", "800 MB/s", "80 %", "16000 ns", "1600 µs", "8.0 MiB"},
	}
	if diff := cmp.Diff(want, got.rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
