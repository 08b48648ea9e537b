package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Follower visits growing logs, each byte once: first the logs of containers on their nodes, and then what YARN
// has aggregated. One goroutine uses it.
type Follower struct {
	Web Web
	// Wants chooses the logs to read; nil chooses all.
	Wants func(container, name string) bool

	read map[logID]int64 // number of visited bytes
}

type logID struct{ container, name string }

// slack is how much more than the listed size is requested, because a log grows meanwhile.
const slack = 64 << 10

// Look visits the new content of a container's logs since the last Look at it.
func (f *Follower) Look(ctx context.Context, report records.ContainerReport, visit Visit) error {
	at, err := shelfOf(f.Web, report)
	if err != nil {
		return err
	}
	files, err := at.files(ctx)
	if err != nil {
		return err
	}
	container := report.ID.String()
	for _, file := range files {
		id := logID{container, file.name}
		if f.Wants != nil && !f.Wants(container, file.name) || file.size == f.read[id] {
			continue
		}
		if file.size >= 0 && file.size < f.read[id] { // it was rotated: another file has its name
			f.add(id, -f.read[id])
		}
		l := Log{Container: container, Node: report.Node.String(), Name: file.name}
		for more := max(0, file.size-f.read[id]) + slack; more > 0 && err == nil; {
			more, err = f.tail(ctx, at, more, l, visit)
		}
		if err != nil {
			return fmt.Errorf("read log %s of %s: %w", file.name, container, err)
		}
	}
	return nil
}

// tail requests the last bytes of a log, as many as most says, and visits those that are new. If they do not
// reach back far enough, it returns how many to request instead: NodeManagers count from the end of the log
// (NMWebServices#getLogs, size), which has moved on.
func (f *Follower) tail(ctx context.Context, at *shelf, most int64, l Log, visit Visit) (more int64, err error) {
	id := logID{l.Container, l.Name}
	query := url.Values{"size": {strconv.FormatInt(-most, 10)}}
	err = at.get(ctx, l.Name, query, "text/plain", func(body io.Reader) error {
		var content io.Reader
		content, l.Size = unwrap(body, most)
		begin := max(0, l.Size-most)
		if begin > f.read[id] {
			more = l.Size - f.read[id] + slack
			return nil
		}
		return f.visitRest(content, begin, l, visit)
	})
	return more, err
}

// visitRest visits the new part of a content that begins at a byte of a log.
func (f *Follower) visitRest(content io.Reader, begin int64, l Log, visit Visit) error {
	id := logID{l.Container, l.Name}
	if _, err := io.CopyN(io.Discard, content, f.read[id]-begin); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	counted := &counted{Reader: content}
	defer func() { f.add(id, counted.n) }()
	return visit(l, counted)
}

func (f *Follower) add(id logID, n int64) {
	if f.read == nil {
		f.read = make(map[logID]int64)
	}
	f.read[id] += n
}

// Rest is a Visit for Aggregated that visits what no Look has visited.
func (f *Follower) Rest(visit Visit) Visit {
	return func(l Log, content io.Reader) error {
		if f.Wants != nil && !f.Wants(l.Container, l.Name) || l.Size >= 0 && l.Size <= f.read[logID{l.Container, l.Name}] {
			return nil
		}
		return f.visitRest(content, 0, l, visit)
	}
}

type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}
