package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// produce is the child. It ends with its input.
func produce(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	var a assignment
	if err := orders.Decode(&a); err != nil {
		return fmt.Errorf("read assignment: %w", err)
	}
	stop, err := profile(a.Plan, "producer")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	var own *pki.Credentials
	if !a.Plan.Plain {
		if own, err = pki.ParsePEM(a.Identity); err != nil {
			return err
		}
	}
	to, err := newSender(ctx, a.Plan, own)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	if err := answers.Encode(introduction{to.address()}); err != nil {
		return err
	}
	var before usage
	for phase := 0; ; {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read order: %w", err)
		}
		switch {
		case o.Send:
			before = usageNow()
			if err := to.send(ctx, phase); err != nil {
				return err
			}
			phase++
		case o.Usage:
			now := usageNow()
			now.CPU -= before.CPU
			if err := answers.Encode(now); err != nil {
				return err
			}
		}
	}
}

// usage is the processor time of a process, and the most bytes that it has held.
type usage struct {
	CPU  time.Duration
	Peak int64
}

func usageNow() usage {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // getrusage(2) fails only for a wrong argument
	}
	return usage{CPU: time.Duration(used.Utime.Nano() + used.Stime.Nano()), Peak: peak()}
}

// peak reads VmHWM, because the peak of getrusage(2) begins with the memory of the parent. It is 0 if the kernel does not
// tell.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	number, _, _ := strings.Cut(strings.TrimSpace(string(rest)), " ")
	kb, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return kb << 10
}
