package dataflow

import (
	"sync"
	"sync/atomic"
	"time"
)

// listingInterval is the time between two reports about a listing, and before the first.
const listingInterval = time.Second

// listingProgress reports the progress of a listing, in a goroutine that stop ends.
type listingProgress struct {
	files   atomic.Int64
	done    chan struct{} // closed by stop
	telling sync.WaitGroup
}

func tellListing(tell func(files int)) *listingProgress {
	l := &listingProgress{done: make(chan struct{})}
	if tell == nil {
		return l
	}
	l.telling.Go(func() {
		ticker := time.NewTicker(listingInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				tell(int(l.files.Load()))
			case <-l.done:
				return
			}
		}
	})
	return l
}

// found adds more files to the count.
func (l *listingProgress) found(more int) { l.files.Add(int64(more)) }

// stop ends the goroutine, and waits for its last report.
func (l *listingProgress) stop() {
	close(l.done)
	l.telling.Wait()
}
