package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

const (
	exchangeRuns = 5
	// The goals: the share of the raw speed for records of largeRecord and more, and the processor time of both ends for a
	// record of tinyRecord.
	rawShare    = 0.6
	largeRecord = 1000
	tinyRecord  = 16
	tinyNanos   = 30
)

// recordSizes are the bytes of records that the exchange moves.
func recordSizes() []int { return []int{tinyRecord, 100, largeRecord, 10_000} }

// moved is the output of records.
type moved struct {
	Records, Bytes int64
	Took, CPU      time.Duration
	Peak           int64
}

// speed is in bytes a second.
func (m moved) speed() float64 { return float64(m.Bytes) / m.Took.Seconds() }

func (m moved) recordNanos() float64 { return float64(m.CPU) / float64(m.Records) }

// megabyteMicros is the processor time of a million bytes, in µs.
func (m moved) megabyteMicros() float64 {
	return float64(m.CPU.Microseconds()) / (float64(m.Bytes) / 1e6)
}

// transport holds the runs over TLS or over plain TCP, by the size of a record. Those of size 0 are without the exchange.
type transport struct {
	name string
	runs map[int][]moved
}

// exchangeAlone measures the exchange of records between two processes, beside the bare connection.
func exchangeAlone(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "The exchange alone",
		text: fmt.Sprintf("`integration/bench/records` moves %d MiB of records from one process to another over loopback, by the exchange of "+
			"task hosts with its default memory. The rows *raw* move the same bytes over one connection of crypto/tls or of TCP, "+
			"in writes of 32 KiB, which the other process reads into a buffer. All rows take turns, %d times. A tenth of the bytes goes first "+
			"and does not count. The speed is that of the records' own bytes. The processor time is that of both processes. The memory "+
			"is the most that each process holds, added. The goals: %.0f %% of the raw speed for records of %d bytes and more, and %d ns of "+
			"processor time for a record of %d bytes. A row in bold misses its goal. pprof measured records of 16 bytes over TLS, on "+
			"2026-12-01: 37 %% of the processor time is the task that emits records, half of it for the mutex of its channel; 14 %% is the task "+
			"that reads them, 18 %% is encryption, and 18 %% are calls of the kernel. A task that emits records without a mutex would need "+
			"another way to flush a buffer that it fills.",
			r.size(), r.runs(exchangeRuns), rawShare*100, largeRecord, tinyNanos, tinyRecord),
		head: []string{"transport", "bytes of a record", "to reach", "speed", "of the raw speed", "processor time of a record", "of 1 MB", "peak memory"},
	}
	transports := []transport{{"TLS", make(map[int][]moved)}, {"plain", make(map[int][]moved)}}
	var turns []func() error
	for _, over := range transports {
		for _, size := range append([]int{0}, recordSizes()...) {
			turns = append(turns, func() error {
				m, err := r.move(ctx, size, over.name == "plain")
				over.runs[size] = append(over.runs[size], m)
				return err
			})
		}
	}
	for range r.runs(exchangeRuns) {
		for _, turn := range turns {
			if err := turn(); err != nil {
				return t, err
			}
		}
		slices.Reverse(turns) // none always follows the same one
	}
	bare := median(pick(transports[0].runs[0], moved.megabyteMicros)) // of TLS
	t.text += fmt.Sprintf(" Such a record has %d bytes on the wire. The bare connection alone takes %.0f ns for them over TLS.",
		tinyRecord+1, bare*(tinyRecord+1)/1000)
	for _, over := range transports {
		over.rows(&t)
	}
	return t, nil
}

// move runs the program once. Size 0 stands for the bare connection.
func (r *rig) move(ctx context.Context, size int, plain bool) (m moved, err error) {
	command := []string{r.program("records"), "-bytes", strconv.FormatInt(int64(r.size())<<20, 10), "-plain=" + strconv.FormatBool(plain)}
	if size == 0 {
		command = append(command, "-raw", "-size", strconv.Itoa(largeRecord))
	} else {
		command = append(command, "-size", strconv.Itoa(size))
	}
	last, err := r.lastLine(ctx, command)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(last, &m); err != nil {
		return m, fmt.Errorf("read what records says: %w", err)
	}
	return m, nil
}

// rows writes the rows of a transport.
func (over transport) rows(t *table) {
	raw := over.runs[0]
	t.row(over.name, "raw", "", spreadOver(raw, moved.speed, perSecond), "", "", spreadOver(raw, moved.megabyteMicros, micros), spreadOver(raw, peakOf, megabytes))
	for _, size := range recordSizes() {
		runs := over.runs[size]
		share := median(pick(runs, moved.speed)) / median(pick(raw, moved.speed))
		spent := median(pick(runs, moved.recordNanos))
		goal, missed := "", false
		switch {
		case size == tinyRecord:
			goal, missed = fmt.Sprintf("%d ns", tinyNanos), spent > tinyNanos
		case size >= largeRecord:
			goal, missed = fmt.Sprintf("%.0f %% of raw", rawShare*100), share < rawShare
		}
		cells := []string{
			over.name, strconv.Itoa(size), goal, spreadOver(runs, moved.speed, perSecond), fmt.Sprintf("%.0f %%", share*100),
			spreadOver(runs, moved.recordNanos, recordTime), spreadOver(runs, moved.megabyteMicros, micros), spreadOver(runs, peakOf, megabytes),
		}
		if missed {
			cells = bold(cells)
		}
		t.row(cells...)
	}
}

func peakOf(m moved) int64 { return m.Peak }

func perSecond(speed float64) string { return fmt.Sprintf("%.0f MB/s", speed/1e6) }

// recordTime formats a time in ns.
func recordTime(ns float64) string {
	if ns < 100 {
		return nanos(ns)
	}
	return fmt.Sprintf("%.0f ns", ns)
}
