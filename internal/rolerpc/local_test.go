package rolerpc

import (
	"errors"
	"sync"
	"testing"
)

// TestAStreamThatComesWithTheCloseIsEnded would catch a race of Open and Close, as when a worker in this process is killed while
// it connects; and a role that never hears that the stream has ended.
func TestAStreamThatComesWithTheCloseIsEnded(t *testing.T) {
	t.Parallel()
	for range 20 {
		var handlers []*recorder
		mux := new(Mux)
		opened := make(chan struct{})
		tell := sync.OnceFunc(func() { close(opened) })
		mux.Handle("role", func(*Stream) (Handler, error) {
			h := newRecorder()
			handlers = append(handlers, h)
			tell()
			return h, nil
		})
		local := NewLocal(mux, LocalConfig{Logger: logger()})
		var opening sync.WaitGroup
		opening.Go(func() {
			for {
				if _, err := local.Open(t.Context(), "role", newRecorder()); err != nil {
					if !errors.Is(err, errConnClosed) {
						t.Error(err)
					}
					return
				}
			}
		})
		<-opened
		if err := local.Close(); err != nil {
			t.Error(err)
		}
		opening.Wait()
		for _, h := range handlers {
			<-h.closed
		}
	}
}
