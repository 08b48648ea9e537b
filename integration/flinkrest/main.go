// Command flinkrest records the answers of a real Flink's REST API. It starts a cluster of Flink's own classes on
// loopback, runs jobs on it, requests every path that Flink knows, and writes the answers to a folder, which package
// appmaster/rest/flinkrest reads.
//
//	flinkrest -flink DIR [-o DIR]
//
// scripts/record-flink-rest runs it. Its only goroutines wait for Flink's two processes, which it ends by their ids.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("flinkrest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	home := flags.String("flink", "", "`directory` of Flink's distribution, as scripts/flink prints it")
	out := flags.String("o", filepath.Join("appmaster", "rest", "flinkrest", "corpus"), "`directory` for the answers; files of earlier recordings in it are removed")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	scratch, err := os.MkdirTemp("", "flinkrest-")
	if err != nil {
		fmt.Fprintf(stderr, "flinkrest: %v\n", err)
		return 1
	}
	plain, full, err := prepareBoth(ctx, *home, scratch)
	if err == nil {
		if err := record(ctx, plain, full, *out); err != nil {
			fmt.Fprintf(stderr, "flinkrest: %v\nFlink's logs are in %s\n", err, scratch)
			return 1
		}
	}
	if err = errors.Join(err, os.RemoveAll(scratch)); err != nil {
		fmt.Fprintf(stderr, "flinkrest: %v\n", err)
		return 1
	}
	return 0
}

// prepareBoth prepares a cluster with Flink's defaults, and one with features that are off by default.
func prepareBoth(ctx context.Context, home, scratch string) (plain, full *flink, err error) {
	if plain, err = prepare(ctx, home, filepath.Join(scratch, "plain"), ""); err != nil {
		return nil, nil, err
	}
	full, err = prepare(ctx, home, filepath.Join(scratch, "full"), switchedOn)
	return plain, full, err
}

// record records one cluster after the other, and writes all answers.
func record(ctx context.Context, plain, full *flink, out string) error {
	known, err := plain.known(ctx)
	if err != nil {
		return fmt.Errorf("ask Flink's classes for its paths: %w", err)
	}
	r := newRecorder(known)
	if err := r.ofCluster(ctx, plain, r.record); err != nil {
		return err
	}
	if err := r.ofCluster(ctx, full, r.recordSwitchedOn); err != nil {
		return err
	}
	return r.write(out)
}

// ofCluster starts a cluster, records its answers, and stops it.
func (r *recorder) ofCluster(ctx context.Context, f *flink, asking func(context.Context) error) error {
	if err := f.start(ctx); err != nil {
		return errors.Join(err, f.stop())
	}
	r.use(f)
	return errors.Join(asking(ctx), f.stop())
}
