package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// BenchmarkExchange moves records of 16 bytes from one task to another.
func BenchmarkExchange(b *testing.B) {
	authority := newAuthority(b)
	for _, kind := range []string{"local", "tcp", "tls"} {
		for _, size := range []int{16, 1000} {
			b.Run(fmt.Sprintf("%s/%d", kind, size), func(b *testing.B) {
				var change []func(*exchange.Config)
				if kind == "tls" {
					change = append(change, authority.host("c1", "j"))
				}
				from1 := newExchange(b, "a", change...)
				to := from1
				if kind != "local" {
					to = newExchange(b, "b", change...)
				}
				ctx := b.Context()
				p := newPartition(b, from1, 0, 1)
				g := to.Gate(ctx, []exchange.Producer{from("a", from1, 0, 0)})
				record := make([]byte, size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.ResetTimer()
				var task sync.WaitGroup
				task.Go(func() {
					for range b.N {
						if err := p.Emit(ctx, 0, record); err != nil {
							b.Error(err)
							return
						}
					}
					if err := p.Finish(ctx); err != nil {
						b.Error(err)
					}
				})
				for {
					if _, err := g.Next(ctx); err != nil {
						if !errors.Is(err, io.EOF) {
							b.Error(err)
						}
						break
					}
				}
				task.Wait()
				g.Close()
			})
		}
	}
}

// BenchmarkFinished reads a finished partition of 64 MiB in records of 100 bytes from its server, over TLS, as 16 consumers in turn.
func BenchmarkFinished(b *testing.B) {
	const channels, bytes = 16, 64 << 20
	authority := newAuthority(b)
	for _, kind := range []string{"tcp", "tls"} {
		b.Run(kind, func(b *testing.B) {
			var ofHost []func(*exchange.Config)
			var ofWorker []func(*exchange.ServerConfig)
			if kind == "tls" {
				ofHost, ofWorker = append(ofHost, authority.host("c2", "j")), append(ofWorker, authority.worker("c1"))
			}
			w := newWorker(b, ofWorker...)
			e := newExchange(b, "b", ofHost...)
			w.write(e, 0, channels, bytes/100/channels, func(int) int { return 100 })
			sources := exchange.NewSources("b", w.producers(1))
			b.SetBytes(bytes)
			b.ReportAllocs()
			for b.Loop() {
				for c := range channels {
					if n, err := count(b.Context(), e.GateOf(b.Context(), sources, c)); err != nil || n != bytes/100/channels {
						b.Fatal(n, err)
					}
				}
			}
		})
	}
}

// count reads a gate to its end.
func count(ctx context.Context, g *exchange.InputGate) (n int, err error) {
	defer g.Close()
	for {
		if _, err := g.Next(ctx); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		n++
	}
}
