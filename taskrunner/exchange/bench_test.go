package exchange_test

import (
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
