package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// sender is the producing end.
type sender interface {
	address() string // where a receiver connects
	send(ctx context.Context, phase int) error
	close() error
}

// receiver is the consuming end.
type receiver interface {
	// receive returns the number of records and bytes of a phase.
	receive(ctx context.Context, phase int) (Moved, error)
	close() error
}

func newSender(ctx context.Context, p plan, own *pki.Credentials) (sender, error) {
	if p.Raw {
		return listenRaw(ctx, p, own)
	}
	return newHost(ctx, p, producing, own)
}

func newReceiver(ctx context.Context, p plan, address string, own *pki.Credentials) (receiver, error) {
	if p.Raw {
		return dialRaw(ctx, p, address, own)
	}
	h, err := newHost(ctx, p, "consumer", own)
	if err != nil {
		return nil, err
	}
	h.producer = address
	return h, nil
}

// producing is the id of the producer's host.
const producing ids.HostID = "producer"

// host is an end of the exchange, with the memory that a task host has by default.
type host struct {
	plan     plan
	exchange *exchange.Exchange
	producer string // the address of the other host, for the consumer
}

func newHost(ctx context.Context, p plan, id ids.HostID, own *pki.Credentials) (*host, error) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	config := exchange.Config{Job: job, Host: id, ListenHost: "127.0.0.1", Logger: log}
	if own != nil {
		accept := pki.OnlyJob(job)
		config.ServerTLS, config.ClientTLS = own.ServerTLS(accept), own.ClientTLS(accept)
	}
	e, err := exchange.New(ctx, config)
	if err != nil {
		return nil, err
	}
	return &host{plan: p, exchange: e}, nil
}

func (h *host) address() string { return h.exchange.Address() }

// execution is the producing task of a phase.
func execution(phase int) ids.ExecutionAttemptID {
	return ids.ExecutionAttemptID{Epoch: 1, Subtask: phase}
}

func (h *host) send(ctx context.Context, phase int) (err error) {
	to, err := h.exchange.Partition(execution(phase), 0, 1)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			to.Fail(err)
		}
	}()
	record := make([]byte, h.plan.Size)
	for range h.plan.records(phase) {
		if err := to.Emit(ctx, 0, record); err != nil {
			return err
		}
	}
	return to.Finish(ctx)
}

func (h *host) receive(ctx context.Context, phase int) (moved Moved, err error) {
	from := h.exchange.Gate(ctx, []exchange.Producer{{
		Partition: exchange.PartitionID{Execution: execution(phase)}, Host: producing, Address: h.producer,
	}})
	defer from.Close()
	for {
		record, err := from.Next(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return moved, nil
			}
			return moved, fmt.Errorf("after %d records: %w", moved.Records, err)
		}
		moved.Records++
		moved.Bytes += int64(len(record))
	}
}

func (h *host) close() error {
	h.exchange.Close()
	return nil
}
