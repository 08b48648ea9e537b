// Command records measures how fast records go from one process to another over loopback. Its child is the producer, and
// it is the consumer itself. It prints one line of JSON.
//
//	records -size 100 -bytes 1073741824 [-raw] [-plain] [-cpuprofile prefix]
//
// The records go through package exchange. With -raw the same bytes go over one connection of crypto/tls without records,
// in writes of 32 KiB, which is the size of a buffer of the exchange. With -plain both are without TLS. A tenth of the
// bytes goes first, so that the connection and the buffers are there. Neither process starts a goroutine of its own.
// With -cpuprofile each process writes a profile of all that it does: prefix.consumer and prefix.producer.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "records:", err)
		os.Exit(1)
	}
}

// asProducer is the first argument of the child.
const asProducer = "producer"

// plan is what both processes move. JSON carries it to the child.
type plan struct {
	Size  int   // bytes of a record
	Bytes int64 // of all records
	Raw   bool  // without the exchange
	Plain bool  // without TLS
	// Profile is the prefix of the files for the profiles; empty: there are none.
	Profile string `json:",omitempty"`
}

// records is the number of records of a phase.
func (p plan) records(phase int) int64 {
	all := max(1, p.Bytes/int64(p.Size))
	if phase == warmUp {
		return max(1, all/10)
	}
	return all
}

// The two phases of a run.
const (
	warmUp = iota
	measured
	phases
)

// Moved is the result of the measured phase.
type Moved struct {
	Records, Bytes int64
	Took           time.Duration // from the order to the producer until the consumer has the last record
	CPU            time.Duration // processor time of both processes
	Peak           int64         // bytes: the most that each process has held, added
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == asProducer {
		return produce(ctx, os.Stdin, os.Stdout)
	}
	p, err := parse(args)
	if err != nil {
		return err
	}
	stop, err := profile(p, "consumer")
	if err != nil {
		return err
	}
	moved, err := consume(ctx, p)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(moved)
}

func parse(args []string) (p plan, err error) {
	flags := flag.NewFlagSet("records", flag.ContinueOnError)
	flags.IntVar(&p.Size, "size", 100, "`bytes` of a record, at least 1")
	flags.Int64Var(&p.Bytes, "bytes", 1<<30, "`bytes` of all records; at least one record goes")
	flags.BoolVar(&p.Raw, "raw", false, "move the bytes without records, in writes of 32 KiB")
	flags.BoolVar(&p.Plain, "plain", false, "without TLS")
	flags.StringVar(&p.Profile, "cpuprofile", "", "write processor profiles to files that begin with `prefix`")
	if err := flags.Parse(args); err != nil {
		return p, err
	}
	if flags.NArg() > 0 {
		return p, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if p.Size < 1 || p.Bytes < 1 {
		return p, errors.New("-size and -bytes must be at least 1")
	}
	return p, nil
}
