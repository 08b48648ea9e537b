package lines

import (
	"context"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

const (
	// small is the size in bytes of the largest file that the reader loads as a whole. The limit is
	// Options.Buffer if that is smaller. For a small file, opening costs more than reading.
	small = 256 << 10
	// loads is the number of files that are loaded at a time. Each load waits for a NameNode and a
	// DataNode. One load at a time would leave these servers and the reader idle.
	loads = 8
)

// isSmall reports whether loadAhead loads a part: a whole small file.
func (r *Reader) isSmall(part jobgraph.Part) bool {
	return part.Length > 0 && part.Length == part.FileLength && part.Length <= min(small, int64(r.options.Buffer))
}

// loadAhead loads the small files of a split, in their order, before next returns them.
type loadAhead struct {
	reader  *Reader
	split   *jobgraph.Split
	ctx     context.Context //nolint:containedctx // of the split
	cancel  context.CancelFunc
	running sync.WaitGroup
	later   []jobgraph.Part   // not looked at yet
	begun   []chan loadedFile // each sent to once, in the order of the files
}

// loadedFile is a file's content, or the error of its load.
type loadedFile struct {
	content []byte
	err     error
}

// loadAhead loads the files of a split from this part on.
func (r *Reader) loadAhead(ctx context.Context, split *jobgraph.Split, from int) *loadAhead {
	a := &loadAhead{reader: r, split: split, later: split.Parts[from:]}
	a.ctx, a.cancel = context.WithCancel(ctx)
	a.begin()
	return a
}

// begin starts loads up to the limit.
func (a *loadAhead) begin() {
	for len(a.begun) < loads && len(a.later) > 0 {
		part := a.later[0]
		a.later = a.later[1:]
		if !a.reader.isSmall(part) {
			continue
		}
		done := make(chan loadedFile, 1) // the load must end even if nobody receives
		a.begun = append(a.begun, done)
		a.running.Go(func() { // ends with the load, or with ctx
			content, err := a.load(part)
			done <- loadedFile{content, err}
		})
	}
}

func (a *loadAhead) load(part jobgraph.Part) ([]byte, error) {
	uri := a.split.URI(part)
	content, info, err := a.reader.fs.Load(a.ctx, uri, part.FileLength)
	if err != nil {
		return nil, notRead(uri, err)
	}
	info.Size = int64(len(content)) // the file may have been truncated after Load described it
	return content, checkUnchanged(info, part)
}

// next returns the content of the next small file.
func (a *loadAhead) next() ([]byte, error) {
	done := a.begun[0]
	a.begun = a.begun[1:]
	var file loadedFile
	select {
	case file = <-done:
	case <-a.ctx.Done():
		return nil, context.Cause(a.ctx)
	}
	a.begin()
	return file.content, file.err
}

// stop cancels the loads, and waits for their ends.
func (a *loadAhead) stop() {
	a.cancel()
	a.running.Wait()
}
