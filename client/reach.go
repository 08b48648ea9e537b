package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/bobbin-yarn/bobbin/appmaster/rest/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var (
	// ErrNotRunning says that an application has no ApplicationMaster that could
	// answer: it has not begun, or it has ended.
	ErrNotRunning = errors.New("application does not run")
	// ErrNoAccess says that the user may not look at an application, or cannot prove
	// who he is.
	ErrNoAccess = errors.New("no access to application")
)

// NotRunningError is an ErrNotRunning with what YARN tells of the application.
type NotRunningError struct {
	Report records.ApplicationReport
}

func (e *NotRunningError) Error() string {
	if e.Report.State.Terminal() {
		return fmt.Sprintf("%v: it is %s (%s); bobbin status -id %s tells why", ErrNotRunning, e.Report.State, e.Report.FinalStatus, e.Report.ID)
	}
	return fmt.Sprintf("%v: YARN says %s", ErrNotRunning, e.Report.State)
}

func (e *NotRunningError) Unwrap() error { return ErrNotRunning }

// Reach makes a client for an application that runs, whoever's it is. On a cluster
// with Kerberos the user proves himself by a token that YARN gives to all who may
// view the application (package clienttoam); on an open one only its owner can,
// by what the ApplicationMaster has staged for him. yarn.staging-directory must be
// that of the application then.
//
// What it finds is of one ApplicationMaster: when that is Unreachable, Reach again.
// Errors are *NotRunningError, ErrNoAccess, and those of YARN and HDFS.
func (c *Cluster) Reach(ctx context.Context, id records.ApplicationID, options config.Config) (*ClusterClient, error) {
	report, err := c.YARN.ApplicationReport(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case report.State != records.ApplicationRunning:
		return nil, fmt.Errorf("reach %s: %w", id, &NotRunningError{report})
	case report.ClientToAMToken != nil:
		return withToken(net.JoinHostPort(report.Host, strconv.Itoa(report.RPCPort)), report.ClientToAMToken)
	case c.Conf.SecurityEnabled():
		return nil, fmt.Errorf("reach %s: %w: YARN gives user %s no token for it; its owner can name who may look (%s)", id, ErrNoAccess, c.User, config.YarnViewACLs)
	case report.User != c.User:
		return nil, fmt.Errorf("reach %s: %w: it is user %s's, and without Kerberos %s cannot prove who he is; look at it through YARN's web page", id, ErrNoAccess, report.User, c.User)
	}
	access, err := c.Access(ctx, id, options)
	if err != nil {
		return nil, err
	}
	return NewClusterClient(access)
}

// withToken makes a client whose connections prove who asks by a token of YARN, and
// who answers.
func withToken(address string, token *creds.Token) (*ClusterClient, error) {
	base, err := baseURL(address)
	if err != nil {
		return nil, err
	}
	return newClusterClient(base, &http.Transport{DialTLSContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		return clienttoam.Dial(ctx, address, token)
	}}), nil
}
