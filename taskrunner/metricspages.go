package taskrunner

import (
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/metrics/prom"
)

const (
	// pageAge is how long a page is shown to others. A worker measures what it uses every five seconds.
	pageAge = time.Second
	// mostPages bounds the pages in memory: the last one, and those that slow clients still read. A page of a thousand tasks
	// has some megabytes.
	mostPages = 3
)

// metricsPages renders one page at a time, and shares it. All clients together hold mostPages of them: while there is no
// room for another one, they get the last one, which is as old as the slowest client may take at most (doorWriteTime).
type metricsPages struct {
	render func() prom.Page
	now    func() time.Time

	mu   sync.Mutex // guards what follows, and is held while a page is rendered
	last *metricsPage
	held int // pages in memory
}

// metricsPage is a page, and the number of clients that it is sent to.
type metricsPage struct {
	prom.Page
	at      time.Time
	readers int
}

// get returns a page. The caller calls done when it is sent.
func (p *metricsPages) get() *metricsPage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil || p.now().Sub(p.last.at) >= pageAge && (p.held < mostPages || p.last.readers == 0) {
		old := p.last
		p.last = nil
		p.release(old)
		p.last = &metricsPage{Page: p.render(), at: p.now()}
		p.held++
	}
	p.last.readers++
	return p.last
}

// done notes that a client has the page, or has gone.
func (p *metricsPages) done(page *metricsPage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	page.readers--
	p.release(page)
}

// release counts a page as gone that nobody reads and nobody will get.
func (p *metricsPages) release(page *metricsPage) {
	if page != nil && page.readers == 0 && page != p.last {
		p.held--
	}
}
