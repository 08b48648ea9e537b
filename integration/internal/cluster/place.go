package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/integration/internal/filelock"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// A machine has places for a limited number of clusters at a time, over all processes. With more clusters, each test
// would wait for the JVMs of the others.

// LimitVariable changes the number of places.
const LimitVariable = "BOBBIN_TEST_CLUSTERS"

const defaultLimit = 12 // a run of all tests shares 7 clusters, or 8 with the long tests

// places is the folder with an entry for each cluster that is alive or starting.
type places struct {
	dir   string
	limit int
}

// place is an entry. It counts as long as its cluster's daemons live, or its starter, because the daemons come later.
type place struct {
	Dir     string // the cluster's folder
	Starter int    // the process that starts it; 0 after the start
}

// placesRoot is the same for all processes of the machine, even if they have different folders for temporary files.
const placesRoot = "/tmp"

func placesOfMachine() (places, error) {
	p := places{dir: filepath.Join(placesRoot, "bobbin-clusters-"+strconv.Itoa(os.Getuid())), limit: defaultLimit}
	if given := os.Getenv(LimitVariable); given != "" {
		limit, err := strconv.Atoi(given)
		if err != nil || limit < 1 {
			return p, fmt.Errorf("%s is %q: want a number above 0", LimitVariable, given)
		}
		p.limit = limit
	}
	return p, os.MkdirAll(p.dir, 0o700)
}

// take waits until there is room, and writes the cluster's entry. A cluster with AtOnce does not wait, but counts.
func (p places) take(ctx context.Context, dir string, atOnce bool, log logrus.FieldLogger) error {
	told := false
	return wait.Poll(ctx, "room for one more cluster", func() error {
		alive, err := p.try(ctx, dir, atOnce)
		if err != nil {
			return fmt.Errorf("%w: %w", wait.ErrGivenUp, err)
		}
		if len(alive) == 0 {
			return nil
		}
		if !told {
			log.WithFields(logrus.Fields{"alive": alive, "limit": p.limit}).Info("waiting for another cluster to end")
			told = true
		}
		return fmt.Errorf("%d clusters run, %s allows %d: %v", len(alive), LimitVariable, p.limit, alive)
	})
}

// try writes the entry, or returns the clusters that take all places.
func (p places) try(ctx context.Context, dir string, atOnce bool) (alive []string, err error) {
	unlock, err := filelock.Exclusive(ctx, filepath.Join(p.dir, "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if alive, err = p.alive(); err != nil {
		return nil, err
	}
	if len(alive) >= p.limit && !atOnce {
		return alive, nil
	}
	return nil, p.write(place{Dir: dir, Starter: os.Getpid()})
}

// alive returns the clusters that count, and removes the entries of the others.
func (p places) alive() (alive []string, err error) {
	files, err := filepath.Glob(filepath.Join(p.dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		var entry place
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // given back meanwhile
		}
		if err == nil {
			err = json.Unmarshal(text, &entry)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", file, err)
		case entry.counts():
			alive = append(alive, entry.Dir)
		default:
			if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
		}
	}
	return alive, nil
}

func (e place) counts() bool {
	if e.Starter != 0 && syscall.Kill(e.Starter, 0) == nil {
		return true
	}
	s, err := readSpec(e.Dir)
	if err != nil {
		return false
	}
	c := &Cluster{spec: s}
	for _, d := range s.Daemons {
		if _, runs := c.pid(d); runs {
			return true
		}
	}
	return false
}

// started removes the starter from the entry. From now on only the cluster's daemons count.
func (p places) started(dir string) error { return p.write(place{Dir: dir}) }

// giveBack removes the entry of an ended cluster.
func (p places) giveBack(dir string) error {
	if err := os.Remove(p.file(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (p places) write(entry place) error {
	text, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	temporary := p.file(entry.Dir) + "." + strconv.Itoa(os.Getpid()) // others read the entries without a lock
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, p.file(entry.Dir))
}

func (p places) file(dir string) string {
	return filepath.Join(p.dir, fmt.Sprintf("%.8x.json", sha256.Sum256([]byte(dir))))
}
