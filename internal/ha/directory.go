package ha

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// FileSystem is the part of dfs.FS that a Directory uses.
type FileSystem interface {
	filesystem.FileSystem
	Status(ctx context.Context, uri string) (dfs.Status, error)
	CreateMode(ctx context.Context, uri string, o dfs.CreateOptions) (io.WriteCloser, error)
	MkdirMode(ctx context.Context, dir string, mode fs.FileMode) error
	Replicate(ctx context.Context, uri string) error
}

// Options configure a Directory.
type Options struct {
	Files FileSystem
	// Dir is the URI of the application's directory, which must exist: <storageDir>/<application>.
	Dir string
	// Epoch is the number of this attempt.
	Epoch ids.Epoch
	// Names makes the names of temporary files.
	Names ids.Source
	// NoLogin says that the process has only the delegation tokens that it was started with. When they have ended, no
	// retry mends that: the error is ErrNoCredentials.
	NoLogin bool
	// Logger is told, at intervals, that storage does not answer. Nil: no logs.
	Logger logrus.FieldLogger
}

// Directory is an Election whose Store is a directory on a file system. Its renames must be atomic: that is, it must be
// HDFS. The local disk serves tests.
type Directory struct {
	Options
	lost lostBlocks
}

var _ Election = (*Directory)(nil)

// NewDirectory makes the Election of one attempt. It does no I/O.
func NewDirectory(o Options) *Directory {
	if o.Logger == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		o.Logger = silent
	}
	return &Directory{Options: o}
}

// Lead implements Election. It finds the directory of the latest leader, and renames it to this attempt's epoch. It
// makes none. A restart of this attempt finds a directory with its own epoch and goes on with it.
func (d *Directory) Lead(ctx context.Context) (Term, error) {
	pace := d.pace("lead")
	for {
		term, err := d.lead(ctx)
		if err == nil {
			return term, nil
		}
		if err := pace.again(ctx, err); err != nil {
			return Term{}, fmt.Errorf("lead %s as attempt %d: %w", path.Base(d.Dir), d.Epoch, err)
		}
	}
}

func (d *Directory) lead(ctx context.Context) (Term, error) {
	found, err := newest(ctx, d.Files, d.Dir)
	if err != nil {
		return Term{}, err
	}
	own := place{d.Epoch, found.ended}
	switch {
	case found.epoch > d.Epoch:
		return Term{}, superseded(found)
	case found != own: // otherwise the answer to the own rename was lost
		if err := doubtful(d.Files.Rename(ctx, d.at(found), d.at(own))); err != nil {
			return Term{}, err
		}
	}
	s := &directoryStore{Directory: d, dir: d.at(place{epoch: d.Epoch})}
	if own.ended {
		outcome, err := d.outcome(ctx)
		return Term{Store: s, Outcome: outcome, Left: &directoryStore{Directory: d, dir: d.at(own)}}, err
	}
	last, err := s.sweep(ctx, found.epoch)
	return Term{Store: s, Last: last}, err
}

// Confirm implements Election.
func (d *Directory) Confirm(ctx context.Context) error {
	found, err := newest(ctx, d.Files, d.Dir)
	if err == nil && found.epoch > d.Epoch {
		err = superseded(found)
	}
	if err != nil {
		return fmt.Errorf("look who leads %s: %w", path.Base(d.Dir), err)
	}
	return nil
}

func superseded(by place) error { return fmt.Errorf("%w: there is %s", ErrSuperseded, by) }

func (d *Directory) at(p place) string { return d.Dir + "/" + p.String() }

// newest returns the place with the highest epoch. There is only one, unless something was left behind.
func newest(ctx context.Context, files Lister, dir string) (place, error) {
	entries, err := files.List(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return place{}, fmt.Errorf("%w: there is no %s", ErrNothing, dir)
	}
	if err != nil {
		return place{}, err
	}
	best, found := newestOf(entries)
	if !found {
		return place{}, fmt.Errorf("%w in %s", ErrNothing, dir)
	}
	return best, nil
}

func newestOf(entries []filesystem.FileInfo) (best place, found bool) {
	for _, e := range entries {
		p, is := parsePlace(path.Base(e.URI))
		if !is || !e.IsDir {
			continue
		}
		if !found || p.epoch > best.epoch || p.epoch == best.epoch && p.ended { // nothing that has ended may run again
			best, found = p, true
		}
	}
	return best, found
}

// storedOutcome is the content of outcomeFile.
type storedOutcome struct {
	Status      msg.ApplicationStatus `json:"status"`
	Diagnostics string                `json:"diagnostics,omitempty"`
}

const (
	maxOutcome     = 1 << 20 // bytes
	maxDiagnostics = 64 << 10
)

// outcome reads how the application has ended. The file was stored before the directory was renamed. If it cannot be
// understood, the status is unknown: nothing may run again.
func (d *Directory) outcome(ctx context.Context) (*Outcome, error) {
	at, began := d.at(place{d.Epoch, true})+"/"+outcomeFile, sched.Now(ctx)
	content, _, err := d.Files.Load(ctx, at, maxOutcome)
	if errors.Is(err, fs.ErrNotExist) { // or a later attempt has renamed the directory
		if err := d.Confirm(ctx); err != nil {
			return nil, err
		}
	} else if err != nil && !errors.Is(err, filesystem.ErrTooLarge) {
		if err = d.unread(ctx, at, began, err); !errors.Is(err, errNoBlocks) {
			return nil, err
		}
	}
	var stored storedOutcome
	if err == nil {
		err = json.Unmarshal(content, &stored)
	}
	if err != nil {
		stored = storedOutcome{msg.ApplicationUnknown, "the application has ended, but how it has ended cannot be read: " + err.Error()}
	}
	return &Outcome{stored.Status, stored.Diagnostics}, nil
}

func encodeOutcome(o Outcome) ([]byte, error) {
	if len(o.Diagnostics) > maxDiagnostics {
		o.Diagnostics = o.Diagnostics[:maxDiagnostics]
	}
	return json.Marshal(storedOutcome(o))
}
