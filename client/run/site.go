package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Site is a running cluster that the client can reach: OnYARN, Elsewhere.
type Site interface {
	// String names the cluster for people.
	String() string
	// means are the flags by which other commands name it.
	means() string
	// Application is its id; "" if it is not known.
	Application() string
	// Report is YARN's report of its application. Its errors include ErrNoYARN and ErrYARNAway.
	Report(ctx context.Context) (records.ApplicationReport, error)
	// Attempts lists the ApplicationMasters that YARN has started, the first one first. Its errors are as those of
	// Report.
	Attempts(ctx context.Context) ([]records.AttemptReport, error)
	// Reach connects to the present ApplicationMaster. The caller closes the connection.
	Reach(ctx context.Context) (*client.ClusterClient, error)
	// Explain adds to the error of a request whether YARN replaces the ApplicationMaster (client.ErrReplacing).
	Explain(ctx context.Context, asked *client.ClusterClient, err error) error
}

var (
	// ErrNoYARN says that only the cluster's REST endpoint is available.
	ErrNoYARN = errors.New("its YARN is not available on this machine")
	// ErrYARNAway says that YARN does not answer now.
	ErrYARNAway = errors.New("YARN does not answer")
)

// reportSoon gets YARN's report of an application, or ErrYARNAway if the report does not come soon. It passes
// on other errors of report.
func reportSoon(ctx context.Context, soon time.Duration, report func(context.Context) (records.ApplicationReport, error)) (records.ApplicationReport, error) {
	waiting, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	told, err := report(waiting)
	if err != nil && ctx.Err() == nil && (waiting.Err() != nil || client.Unheard(err)) {
		err = fmt.Errorf("%w: %w", ErrYARNAway, err)
	}
	return told, err
}

// onYARN is an application whose YARN is available.
type onYARN struct {
	cluster *client.Cluster
	id      records.ApplicationID
	file    string // the session file, if it names the application; "" if a flag or an option does
}

// OnYARN is an application of a cluster. file is the path of the session file, if it names the application; it
// must be of this cluster and user. file is "" if a flag or an option names the application.
func OnYARN(on *client.Cluster, id records.ApplicationID, file string) (Site, error) {
	site := &onYARN{on, id, file}
	if file == "" {
		return site, nil
	}
	s, err := sessionfile.Read(file)
	if err == nil {
		err = s.Of(owner(on))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // the file is gone, but its session may run
		err = nil
	case errors.Is(err, sessionfile.ErrElsewhere):
		err = fmt.Errorf("%w (%s): name an application with -id, a target with -t, or start a session here", err, file)
	}
	return site, err
}

// owner is the owner of a session that this user starts on a cluster, in the form of the session file.
func owner(on *client.Cluster) sessionfile.Owner {
	return sessionfile.Owner{ResourceManagers: strings.Join(on.ResourceManagers(), ","), User: on.User}
}

func (s *onYARN) String() string      { return s.id.String() }
func (s *onYARN) means() string       { return "-id " + s.id.String() }
func (s *onYARN) Application() string { return s.id.String() }

func (s *onYARN) Report(ctx context.Context) (records.ApplicationReport, error) {
	return reportSoon(ctx, s.cluster.Soon(), s.report)
}

// report waits longer than Report: up to client.timeout.
func (s *onYARN) report(ctx context.Context) (records.ApplicationReport, error) {
	report, err := s.cluster.Report(ctx, s.id)
	return report, s.outdated(err)
}

func (s *onYARN) Reach(ctx context.Context) (*client.ClusterClient, error) {
	reached, err := s.cluster.Reach(ctx, s.id)
	return reached, s.outdated(err)
}

func (s *onYARN) Attempts(ctx context.Context) ([]records.AttemptReport, error) {
	var attempts []records.AttemptReport
	_, err := reportSoon(ctx, s.cluster.Soon(), func(ctx context.Context) (report records.ApplicationReport, err error) {
		attempts, err = s.cluster.Attempts(ctx, s.id)
		return report, err
	})
	return attempts, err
}

func (s *onYARN) Explain(ctx context.Context, asked *client.ClusterClient, err error) error {
	return s.outdated(s.cluster.Explain(ctx, s.id, asked, err))
}

// outdated adds to the error of an ended application the path of the session file that still names it.
func (s *onYARN) outdated(err error) error {
	idle, is := errors.AsType[*client.NotRunningError](err)
	if gone := is && idle.Report.State.Terminal() || errors.Is(err, yarnrpc.ErrApplicationNotFound); s.file == "" || !gone {
		return err
	}
	return &outdatedError{err, s.file}
}

// outdatedError is the error of an ended application that a file still names.
type outdatedError struct {
	error
	file string
}

func (e *outdatedError) Unwrap() error { return e.error }
func (e *outdatedError) Error() string { return fmt.Sprintf("%v; %s", e.error, Outdated(e)) }

// Outdated names the file that still names an ended application, and the remedy. err is an error of a Site. The
// text is "" if no file names the application.
func Outdated(err error) string {
	if e, is := errors.AsType[*outdatedError](err); is {
		return e.file + " still names it: bobbin session stop removes that file"
	}
	return ""
}

// elsewhere is a cluster whose YARN is not available on this machine. Its access file has the REST endpoint and
// the rights of its owner.
type elsewhere struct {
	access launch.Access
	file   string // the access file
}

// Elsewhere is the cluster of an access file. If address is not "", it replaces the one in the file, for a
// tunnel. The server proves its identity by its certificate, at any address.
func Elsewhere(file, address string) (Site, error) {
	access, err := client.ReadAccess(file)
	access.Address = cmp.Or(address, access.Address)
	return &elsewhere{access, file}, err
}

func (s *elsewhere) String() string { return cmp.Or(s.access.Application, s.access.Address) }

func (s *elsewhere) means() string {
	return fmt.Sprintf("-m %s -D %s=%s", s.access.Address, config.RESTAccessFile, s.file)
}

func (s *elsewhere) Application() string { return s.access.Application }

func (s *elsewhere) Report(context.Context) (records.ApplicationReport, error) {
	return records.ApplicationReport{}, ErrNoYARN
}

func (s *elsewhere) Attempts(context.Context) ([]records.AttemptReport, error) { return nil, ErrNoYARN }

// Explain names what may be wrong with the access file: each ApplicationMaster has a token and an address of its own.
func (s *elsewhere) Explain(_ context.Context, _ *client.ClusterClient, err error) error {
	refused, is := errors.AsType[*client.StatusError](err)
	if is && refused.Status == http.StatusUnauthorized || client.Gone(err) {
		return fmt.Errorf("%w; if YARN has replaced the ApplicationMaster, write %s again (bobbin session access)", err, s.file)
	}
	return err
}

func (s *elsewhere) Reach(context.Context) (*client.ClusterClient, error) {
	return client.NewClusterClient(s.access)
}
