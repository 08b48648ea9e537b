package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Site is a cluster that runs, and the way to it: OnYARN, Elsewhere.
type Site interface {
	// String names it for people.
	String() string
	// means are the flags by which other commands mean it.
	means() string
	// Application is its id; "": it is not known.
	Application() string
	// Report is YARN's, of its application: ErrNoYARN, ErrYARNAway.
	Report(ctx context.Context) (records.ApplicationReport, error)
	// Reach connects to the ApplicationMaster of the time. The caller closes the connection.
	Reach(ctx context.Context) (*client.ClusterClient, error)
}

var (
	// ErrNoYARN says that nothing is known of a cluster but what its REST endpoint says.
	ErrNoYARN = errors.New("its YARN is not available on this machine")
	// ErrYARNAway says that nothing more is known for now.
	ErrYARNAway = errors.New("YARN does not answer")
)

// reportSoon gets YARN's report of an application, or ErrYARNAway if it does not come soon. Other
// errors are report's.
func reportSoon(ctx context.Context, soon time.Duration, report func(context.Context) (records.ApplicationReport, error)) (records.ApplicationReport, error) {
	waiting, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	told, err := report(waiting)
	if err != nil && ctx.Err() == nil && (waiting.Err() != nil || client.Unheard(err)) {
		err = fmt.Errorf("%w: %w", ErrYARNAway, err)
	}
	return told, err
}

// onYARN is an application whose YARN tells how it is reached.
type onYARN struct {
	cluster *client.Cluster
	id      records.ApplicationID
	file    string // of `session start`, by which the user means it; "": he means it otherwise
}

// OnYARN is an application of a cluster. file is the path of the file of `session start` that names
// it, which must be of this cluster and user; "" if a flag or an option names it.
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
	case errors.Is(err, fs.ErrNotExist): // it has gone meanwhile, and its session maybe not
		err = nil
	case errors.Is(err, sessionfile.ErrElsewhere):
		err = fmt.Errorf("%w (%s): name an application with -id, a target with -t, or start a session here", err, file)
	}
	return site, err
}

// owner is the owner of this user's sessions on a cluster, for their file.
func owner(on *client.Cluster) sessionfile.Owner {
	return sessionfile.Owner{ResourceManagers: strings.Join(on.ResourceManagers(), ","), User: on.User}
}

func (s *onYARN) String() string      { return s.id.String() }
func (s *onYARN) means() string       { return "-id " + s.id.String() }
func (s *onYARN) Application() string { return s.id.String() }

func (s *onYARN) Report(ctx context.Context) (records.ApplicationReport, error) {
	return reportSoon(ctx, s.cluster.Soon(), s.report)
}

// report waits longer than Report: as long as the client's timeout says.
func (s *onYARN) report(ctx context.Context) (records.ApplicationReport, error) {
	report, err := s.cluster.Report(ctx, s.id)
	return report, s.outdated(err)
}

func (s *onYARN) Reach(ctx context.Context) (*client.ClusterClient, error) {
	reached, err := s.cluster.Reach(ctx, s.id)
	return reached, s.outdated(err)
}

// outdated adds to the error of an application that has ended which file still names it.
func (s *onYARN) outdated(err error) error {
	idle, is := errors.AsType[*client.NotRunningError](err)
	if gone := is && idle.Report.State.Terminal() || errors.Is(err, yarnrpc.ErrApplicationNotFound); s.file == "" || !gone {
		return err
	}
	return &outdatedError{err, s.file}
}

// outdatedError is that of an application which has ended, though a file names it.
type outdatedError struct {
	error
	file string
}

func (e *outdatedError) Unwrap() error { return e.error }
func (e *outdatedError) Error() string { return fmt.Sprintf("%v; %s", e.error, Outdated(e)) }

// Outdated names the file that still names an ended Site, and the remedy. err is the Site's; "" if no
// file names it.
func Outdated(err error) string {
	if e, is := errors.AsType[*outdatedError](err); is {
		return e.file + " still names it: bobbin session stop removes that file"
	}
	return ""
}

// elsewhere is a cluster of which only the REST endpoint is known, and how its owner gets
// in there: its YARN is not this machine's.
type elsewhere struct {
	access launch.Access
	file   string // that tells
}

// Elsewhere is the cluster of a file of `session access`. An address replaces the one in the file,
// for a tunnel. The server proves its identity by its certificate, whatever the address.
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

func (s *elsewhere) Reach(context.Context) (*client.ClusterClient, error) {
	return client.NewClusterClient(s.access)
}
