package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var (
	// ErrNotRunning says that no ApplicationMaster of the application can answer: the application has not
	// started, or has ended.
	ErrNotRunning = errors.New("application does not run")
	// ErrEnding says that an application has stored how it ends, and that YARN does not know its end yet.
	ErrEnding = errors.New("application is ending")
	// ErrNoAccess says that the user may not look at an application, or cannot prove who they are.
	ErrNoAccess = errors.New("no access to application")
)

// NotRunningError is an ErrNotRunning with YARN's report of the application.
type NotRunningError struct {
	Report records.ApplicationReport
}

func (e *NotRunningError) Error() string {
	if e.Report.State.Terminal() {
		return fmt.Sprintf("%v: it is %s (%s); bobbin status -id %s tells why", ErrNotRunning, e.Report.State, e.Report.FinalStatus, e.Report.ID)
	}
	if e.Report.State == records.ApplicationRunning {
		return fmt.Sprintf("%v, although YARN says RUNNING", ErrNotRunning)
	}
	return fmt.Sprintf("%v: YARN says %s", ErrNotRunning, e.Report.State)
}

func (e *NotRunningError) Unwrap() error { return ErrNotRunning }

// Reach makes a client for a running application of any user. With Kerberos, users prove who they are by a
// token that YARN gives to everyone who may view the application (package clienttoam). On an open cluster only
// the owner can do so, by what the ApplicationMaster has stored. The Cluster's yarn.staging-directory must then
// be that of the application.
//
// If YARN does not answer, the owner still reaches the application by what is staged: an ApplicationMaster
// continues without its ResourceManager.
//
// The client is for one ApplicationMaster: when that is Unreachable, call Reach again. Errors are
// *NotRunningError, *ReplacingError, ErrNoAccess, and those of YARN and HDFS.
func (c *Cluster) Reach(ctx context.Context, id records.ApplicationID) (*ClusterClient, error) {
	return firstOf(ctx, c.Soon(),
		func(ctx context.Context) (*ClusterClient, error) { return c.reachByYARN(ctx, id) },
		func(ctx context.Context) (*ClusterClient, error) { return c.reachStaged(ctx, id) })
}

// attempted is the outcome of one attempt to reach a master.
type attempted struct {
	reached *ClusterClient
	err     error
}

// firstOf calls first. If first gets no answer from its server, or takes longer than patience, firstOf also
// calls second. The error is that of first. Both have returned when firstOf returns.
func firstOf(ctx context.Context, patience time.Duration, first, second func(context.Context) (*ClusterClient, error)) (*ClusterClient, error) {
	ctx, cancel := context.WithCancel(ctx)
	var trying sync.WaitGroup
	defer trying.Wait()
	defer cancel()
	try := func(way func(context.Context) (*ClusterClient, error)) <-chan attempted {
		outcome := make(chan attempted, 1)
		trying.Go(func() { // ends with ctx, at the latest
			reached, err := way(ctx)
			outcome <- attempted{reached, err}
		})
		return outcome
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	by := try(first)
	var beside <-chan attempted
	select {
	case o := <-by:
		if !Unheard(o.err) || ctx.Err() != nil {
			return o.reached, o.err
		}
		if reached, err := second(ctx); err == nil {
			return reached, nil
		}
		return nil, o.err
	case <-late.C:
		beside = try(second)
	}
	select {
	case o := <-by:
		if !Unheard(o.err) {
			cancel()
			(<-beside).close()
		} else if other := <-beside; other.err == nil {
			return other.reached, nil
		}
		return o.reached, o.err
	case other := <-beside:
		if other.err == nil {
			cancel()
			(<-by).close()
			return other.reached, nil
		}
		o := <-by
		return o.reached, o.err
	}
}

func (a attempted) close() {
	if a.reached != nil {
		a.reached.Close()
	}
}

// Unheard tells whether an error says that a server of Hadoop has given no answer. If the client could not ask,
// because the user has no ticket for the server, the error is not Unheard: no other server helps, and the error
// says what the user must correct.
func Unheard(err error) bool {
	_, unanswered := errors.AsType[*yarnrpc.CallError](err)
	return unanswered && !slices.ContainsFunc([]error{kerberos.ErrKDC, kerberos.ErrNoTicket, kerberos.ErrExpired},
		func(unasked error) bool { return errors.Is(err, unasked) })
}

// reachStaged makes a client from what the ApplicationMaster has staged for its owner, if the ApplicationMaster
// answers. The file of a killed ApplicationMaster remains.
func (c *Cluster) reachStaged(ctx context.Context, id records.ApplicationID) (*ClusterClient, error) {
	access, err := c.Access(ctx, id)
	if err != nil {
		return nil, err
	}
	reached, err := NewClusterClient(access)
	if err != nil {
		return nil, err
	}
	if _, err := reached.Overview(ctx); err != nil {
		reached.Close()
		return nil, err
	}
	return reached, nil
}

// reachByYARN makes a client for a running application from YARN's report.
func (c *Cluster) reachByYARN(ctx context.Context, id records.ApplicationID) (*ClusterClient, error) {
	report, err := c.Report(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case report.State != records.ApplicationRunning:
		return nil, idle(report)
	case report.ClientToAMToken != nil:
		return withToken(report)
	case c.Conf.SecurityEnabled():
		return nil, fmt.Errorf("reach %s: %w: YARN gives user %s no token for it; its owner can give you access (%s)", id, ErrNoAccess, c.User, config.YarnViewACLs)
	case report.User != c.User:
		return nil, fmt.Errorf("reach %s: %w: it belongs to user %s, and without Kerberos user %s cannot prove an identity; use YARN's web page", id, ErrNoAccess, report.User, c.User)
	}
	access, err := c.accessOf(ctx, report)
	if err != nil {
		return nil, err
	}
	return NewClusterClient(access)
}

// errKeyless says that clients cannot prove who they are to an ApplicationMaster. It works on, so YARN does not replace it.
var errKeyless = errors.New("its ApplicationMaster has no key for clients' tokens, because YARN's answer to its registration was lost")

// withToken makes a client whose connections prove the identity of both sides, by the token of YARN's report.
func withToken(report records.ApplicationReport) (*ClusterClient, error) {
	base, err := baseURL(net.JoinHostPort(report.Host, strconv.Itoa(report.RPCPort)))
	if err != nil {
		return nil, err
	}
	c := newClusterClient(base, &http.Transport{DialTLSContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		connection, err := clienttoam.Dial(ctx, address, report.ClientToAMToken)
		if errors.Is(err, clienttoam.ErrKeyLost) {
			err = fmt.Errorf("reach %s: %w. It works on: its owner reaches a session with a file of bobbin session access, and bobbin kill %s ends it", report.ID, errKeyless, report.ID)
		}
		return connection, err
	}})
	c.Attempt = report.Attempt.Attempt
	return c, nil
}
