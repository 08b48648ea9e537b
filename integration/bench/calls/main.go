// Command calls requests the report of one application from a ResourceManager, repeatedly and from
// a number of callers. It prints as one line of JSON the speed and the processor time of this
// process. Calls.java beside it does the same with Hadoop's own client.
//
//	calls -app ID -callers N -warm N -calls N [-principal NAME -keytab FILE -protection P [-token]]
//
// With a keytab it logs in with Kerberos. With -token it uses the ticket to get a delegation token,
// and logs in with that.
//
// It is a program of its own so that only the client's processor time counts.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/user"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "calls:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	app := flag.String("app", "", "`application` to ask for")
	callers := flag.Int("callers", 1, "`number` of callers at a time")
	warm := flag.Int("warm", 0, "`number` of calls before those that count")
	calls := flag.Int("calls", 1, "`number` of calls that count")
	var s secured
	flag.StringVar(&s.principal, "principal", "", "`name` to log in as")
	flag.StringVar(&s.keytab, "keytab", "", "`file` with the principal's keys")
	flag.StringVar(&s.protection, "protection", "authentication", "`quality` of protection")
	flag.BoolVar(&s.token, "token", false, "log in with a delegation token")
	flag.Parse()
	id, err := records.ParseApplicationID(*app)
	if err != nil {
		return err
	}
	client, err := connect(ctx, s)
	if err != nil {
		return err
	}
	defer client.Close()
	l := load{client: client, id: id, callers: *callers}
	if _, err := l.run(ctx, *warm); err != nil {
		return err
	}
	before, start := processorTime(), time.Now()
	latencies, err := l.run(ctx, *calls)
	if err != nil {
		return err
	}
	took, used := time.Since(start), processorTime()-before
	slices.Sort(latencies)
	n := len(latencies)
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"perSecond":  float64(n) / took.Seconds(),
		"p50Micros":  float64(latencies[n/2].Nanoseconds()) / 1e3,
		"p99Micros":  float64(latencies[n*99/100].Nanoseconds()) / 1e3,
		"cpuPerCall": float64(used.Nanoseconds()) / 1e3 / float64(n),
	})
}

// secured sets the login, if the flags ask for one.
type secured struct {
	principal, keytab, protection string
	token                         bool
}

func connect(ctx context.Context, s secured) (*yarnclient.Client, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	dir, err := hadoopconf.Find(os.Getenv)
	if err != nil {
		return nil, err
	}
	conf, err := hadoopconf.Load(dir, hadoopconf.Environment{})
	if err != nil {
		return nil, err
	}
	o, err := yarnclient.FromConf(conf, me.Username)
	if err != nil {
		return nil, err
	}
	if s.keytab == "" {
		return yarnclient.New(o), nil
	}
	if o.RPC.QOPs, err = sasl.ParseProtection(s.protection); err != nil {
		return nil, err
	}
	realm, err := kerberos.LoadConfig(os.Getenv)
	if err != nil {
		return nil, err
	}
	login, err := kerberos.FromKeytab(realm, s.principal, s.keytab)
	if err != nil {
		return nil, err
	}
	o.RPC.Login = login
	client := yarnclient.New(o)
	if !s.token {
		return client, nil
	}
	defer client.Close()
	token, err := client.DelegationToken(ctx, s.principal)
	if err != nil {
		return nil, err
	}
	o.RPC.Login, o.RPC.Token = nil, creds.Fixed(token)
	return yarnclient.New(o), nil
}

// load is a number of callers that make one call after another.
type load struct {
	client  *yarnclient.Client
	id      records.ApplicationID
	callers int
}

// run makes a number of calls and returns the time of each.
func (l load) run(ctx context.Context, calls int) ([]time.Duration, error) {
	latencies := make([]time.Duration, calls)
	group, ctx := errgroup.WithContext(ctx)
	for caller := range l.callers {
		group.Go(func() error {
			for i := caller; i < calls; i += l.callers {
				start := time.Now()
				if _, err := l.client.ApplicationReport(ctx, l.id); err != nil {
					return err
				}
				latencies[i] = time.Since(start)
			}
			return nil
		})
	}
	return latencies, group.Wait()
}

// processorTime returns this process's processor time so far.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // cannot fail for its own process
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
