package ha

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Lister lists directories.
type Lister interface {
	List(ctx context.Context, dir string) ([]filesystem.FileInfo, error)
}

// Live is where the latest leader of an application keeps its data.
type Live struct {
	// Dir is the URI of the directory: <application>/live-<N>, or ended-<N>.
	Dir string
	// Epoch is the epoch of the leader; 0 before the first one.
	Epoch ids.Epoch
	// Ended says that the application has ended (Store.End).
	Ended bool
	// Address is the leader's address for workers, host:port. If it is published, then so is access.json.
	Address string
}

// findTries is how often Find looks again because a new leader has renamed the directory while it looked.
const findTries = 10

// Find finds the latest leader in the application's directory. The error is ErrNothing if there is nothing, and
// ErrReplacing, with all but the address, if that leader has not published its address. Other errors are those of the
// file system.
func Find(ctx context.Context, files Lister, dir string) (Live, error) {
	var live Live
	for range findTries {
		p, err := newest(ctx, files, dir)
		if err != nil {
			return Live{}, fmt.Errorf("look who leads %s: %w", path.Base(dir), err)
		}
		live = Live{Dir: dir + "/" + p.String(), Epoch: p.epoch, Ended: p.ended}
		if p.ended {
			return live, nil
		}
		entries, err := files.List(ctx, live.Dir)
		if errors.Is(err, fs.ErrNotExist) { // a new leader
			continue
		}
		if err != nil {
			return Live{}, fmt.Errorf("look for the address of %s: %w", path.Base(dir), err)
		}
		for _, e := range entries {
			// The address of the last leader is still there when a new one has renamed the directory.
			if leader, is := parseAddressName(path.Base(e.URI)); is && leader.Epoch == p.epoch {
				live.Address = leader.Address
				return live, nil
			}
		}
		break
	}
	return live, fmt.Errorf("look for the address of %s: %w", path.Base(dir), ErrReplacing)
}

// Newest is where the latest leader keeps its data, by the entries of an application's directory: without the address.
// false: there is nothing.
func Newest(entries []filesystem.FileInfo) (Live, bool) {
	p, found := newestOf(entries)
	for _, e := range entries {
		if found && path.Base(e.URI) == p.String() {
			return Live{Dir: e.URI, Epoch: p.epoch, Ended: p.ended}, true
		}
	}
	return Live{}, false
}

// NewRetrieval makes the Retrieval of an application's directory, for workers. It needs only a NameNode.
func NewRetrieval(files Lister, dir string) Retrieval { return retrieval{files, dir} }

type retrieval struct {
	files Lister
	dir   string
}

// Leader implements Retrieval.
func (r retrieval) Leader(ctx context.Context) (Leader, error) {
	live, err := Find(ctx, r.files, r.dir)
	switch {
	case err != nil:
		return Leader{}, err
	case live.Ended:
		return Leader{}, fmt.Errorf("%w: %w", ErrNothing, ErrEnded)
	default:
		return Leader{live.Epoch, live.Address}, nil
	}
}
