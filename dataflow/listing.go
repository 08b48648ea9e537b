package dataflow

import (
	"sync"
	"sync/atomic"
	"time"
)

// listingInterval is the time between two words about a listing, and before the first.
const listingInterval = time.Second

// listingProgress tells how far a listing is, from a goroutine that ends with stop.
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

// found takes in that more files were found.
func (l *listingProgress) found(more int) { l.files.Add(int64(more)) }

// stop ends it, and waits for the last word.
func (l *listingProgress) stop() {
	close(l.done)
	l.telling.Wait()
}
