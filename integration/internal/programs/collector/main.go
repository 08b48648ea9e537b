// Command collector collects the lines of a text, and prints their number of bytes and their
// digest.
//
//	collector INPUT…
package main

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

var lines = dataflow.NewCollector[[]byte]("lines")

var collect = dataflow.Job("collect", func(p *dataflow.Plan, input []string) error {
	dataflow.Collect(dataflow.ReadText(p, input...), lines)
	return nil
})

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		result, err := env.Execute(ctx, collect, env.Args())
		if err != nil {
			return err
		}
		collected, err := dataflow.Collected(result, lines)
		if err != nil {
			return err
		}
		digest, size := sha256.New(), 0
		for _, line := range collected {
			digest.Write(append(line, '\n'))
			size += len(line) + 1
		}
		fmt.Printf("collected %d lines, %d bytes, sha256 %x\n", len(collected), size, digest.Sum(nil))
		return nil
	})
}
