package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
)

// cityText is the content of the cached file that jobs of sessions may have, under cityName.
const cityText, cityName = "Rome\n", "cities"

// cities is the file, as a job in a session names it.
func cities() jobgraph.CachedFile {
	sum := sha256.Sum256([]byte(cityText))
	return jobgraph.CachedFile{Name: cityName, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(cityText))}
}

// drawFiles draws which jobs have a cached file.
func drawFiles(r *rand.Rand, mode Mode, jobs []*job) {
	for _, j := range jobs {
		j.cached = r.IntN(2) == 0 && mode == Session
	}
}

// withFile is the graph of a job with its cached file, which it uploads to the session.
func (j *job) withFile(ctx context.Context, d *appmaster.Desk) (jobgraph.JobGraph, error) {
	graph := j.graph
	if !j.cached {
		return graph, nil
	}
	f := cities()
	graph.Files = []jobgraph.CachedFile{f}
	_, err := d.Session.AddFile(ctx, cityName, f.SHA256, strings.NewReader(cityText))
	return graph, err
}

// copies are the cached files on the disk of a worker. They implement taskexecutor.Artifacts.
type copies struct {
	k       *worker
	tokens  dfs.Tokens
	refused time.Time         // since when its tokens have ended; zero: they are valid
	files   map[string]string // content by path
}

var _ taskexecutor.Artifacts = (*copies)(nil)

var errNoPrograms = errors.New("workers of the simulation have the program of all jobs")

// FetchProgram implements taskexecutor.Artifacts.
func (c *copies) FetchProgram(context.Context, uint64, msg.Program) (string, config.Bytes, error) {
	return "", 0, errNoPrograms
}

// patience is how long a worker waits at least for valid tokens. Then the job fails.
const patience = 10 * time.Minute

// FetchFile implements taskexecutor.Artifacts. After two failures on different nodes the job fails, unless they are
// for want of valid tokens.
func (c *copies) FetchFile(ctx context.Context, id uint64, f jobgraph.CachedFile) (string, config.Bytes, error) {
	k := c.k
	content, err := c.read(ctx, f)
	if err != nil {
		if ctx.Err() == nil {
			k.w.facts[NoFiles]++
			c.fails(err)
		}
		return "", 0, fmt.Errorf("fetch %s: %w", f.URI, err)
	}
	c.refused = time.Time{}
	path := c.path(id)
	c.files[path] = string(content)
	k.w.facts[Files]++
	return path, config.Bytes(len(content)), nil
}

// fails notes a failed fetch, and excuses the job when it may fail.
func (c *copies) fails(err error) {
	k, app := c.k, c.k.container.Attempt.Application
	if !dfs.NeedsTokens(err) {
		if k.master.failedAt(k.node) {
			k.w.excuse(app, "a cached file cannot be fetched on two nodes")
		}
		return
	}
	now := k.w.engine.Now()
	if c.refused.IsZero() {
		c.refused = now
	}
	if now.Sub(c.refused) >= patience {
		k.w.excuse(app, "a worker has got no valid tokens for a cached file")
	}
}

// read reads a file with the newest tokens of a worker.
func (c *copies) read(ctx context.Context, f jobgraph.CachedFile) ([]byte, error) {
	file, err := c.k.w.hdfs.openAs(c.k.process, login{tokens: c.tokens.Load}).Open(ctx, f.URI)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(file)
	return content, errors.Join(err, file.Close())
}

// Remove implements taskexecutor.Artifacts.
func (c *copies) Remove(id uint64) error {
	delete(c.files, c.path(id))
	return nil
}

func (c *copies) path(id uint64) string { return fmt.Sprintf("%s/%d", c.k.id, id) }

// checkFile has a task read its job's cached file.
func (h *host) checkFile(t operator.Subtask) error {
	path, err := t.CachedFile(cityName)
	if err == nil && h.worker.copies.files[path] != cityText {
		err = fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return err
}
