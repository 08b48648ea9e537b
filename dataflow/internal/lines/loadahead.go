package lines

import (
	"context"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

const (
	// small is the size up to which a file is loaded whole, in bytes, within Options.Buffer: what it
	// costs to open one is then more than to read it.
	small = 256 << 10
	// loads is how many files are loaded at a time. Each waits for a NameNode and a DataNode, so
	// that one after the other would leave both idle, and the reader too.
	loads = 8
)

// isSmall tells the parts that are loaded: whole small files.
func (r *Reader) isSmall(part jobgraph.Part) bool {
	return part.Length > 0 && part.Length == part.FileLength && part.Length <= min(small, int64(r.options.Buffer))
}

// loadAhead loads the small files of a split, in their order, before they are asked for.
type loadAhead struct {
	reader  *Reader
	split   *jobgraph.Split
	ctx     context.Context //nolint:containedctx // of one Read
	cancel  context.CancelFunc
	running sync.WaitGroup
	later   []jobgraph.Part   // that are not looked at yet
	begun   []chan loadedFile // each sent to once, in the order of the files
}

// loadedFile is a file's content, or why there is none.
type loadedFile struct {
	content []byte
	err     error
}

func (r *Reader) loadAhead(ctx context.Context, split *jobgraph.Split) *loadAhead {
	a := &loadAhead{reader: r, split: split, later: split.Parts}
	a.ctx, a.cancel = context.WithCancel(ctx)
	a.begin()
	return a
}

// begin starts as many loads as may be under way.
func (a *loadAhead) begin() {
	for len(a.begun) < loads && len(a.later) > 0 {
		part := a.later[0]
		a.later = a.later[1:]
		if !a.reader.isSmall(part) {
			continue
		}
		done := make(chan loadedFile, 1) // nobody may come for it
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
	info.Size = int64(len(content)) // it may have been cut since it was described
	return content, checkUnchanged(info, part)
}

// next gives the content of the next small file.
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

// stop ends the loads, and waits for them.
func (a *loadAhead) stop() {
	a.cancel()
	a.running.Wait()
}
