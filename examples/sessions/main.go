// Sessions divides the requests of a web server's access logs into sessions: a host
// begins a new one if it has asked for nothing for 30 minutes.
//
//	sessions OUTPUT LOGS
//
// job.go holds the job, request.go its types.
package main

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		args := env.Args()
		if len(args) < 2 {
			return errors.New("usage: sessions OUTPUT LOGS")
		}
		_, err := env.Execute(ctx, Sessions, Args{Output: args[0], Logs: args[1:]})
		return err
	})
}
