package kerberos_test

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// A service that logs in with its keytab, and stays logged in.
func ExampleFromKeytab() {
	logIn := func(ctx context.Context, tasks *sync.WaitGroup, o *yarnrpc.Options) error {
		conf, err := kerberos.LoadConfig(os.Getenv)
		if err != nil {
			return err
		}
		login, err := kerberos.FromKeytab(conf, "etl/host.example.com", "/etc/security/keytabs/etl.keytab")
		if err != nil {
			return err
		}
		o.Login = login
		tasks.Go(func() { // ends with ctx
			login.Keep(ctx, func(err error) { fmt.Fprintln(os.Stderr, "log in again:", err) })
		})
		return nil
	}
	_ = logIn
}
