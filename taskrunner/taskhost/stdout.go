package taskhost

import (
	"io"
	"sync"
)

// lines keeps the lines of concurrent print sinks intact.
type lines struct {
	mu sync.Mutex // guards to
	to io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}
