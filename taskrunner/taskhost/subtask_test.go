package taskhost

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestCollectHasAWindow would catch results that fill the memory of the ApplicationMaster while the
// client is slow.
func TestCollectHasAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		posted := 0
		s := &subtask{
			activity: newActivity(time.Now),
			window:   make(chan struct{}, msg.CollectWindow),
			post:     func(context.Context, event) error { posted++; return nil },
		}
		done := make(chan error)
		go func() {
			for range 2 * msg.CollectWindow {
				if err := s.Collect(t.Context(), []byte("x")); err != nil {
					done <- err
					return
				}
			}
			done <- s.collectedAll(t.Context())
		}()
		for acknowledged := range 2 * msg.CollectWindow {
			synctest.Wait()
			if want := min(msg.CollectWindow+acknowledged, 2*msg.CollectWindow); posted != want {
				t.Errorf("%d batches are sent when %d are acknowledged, want %d", posted, acknowledged, want)
			}
			select {
			case err := <-done:
				t.Fatalf("all is delivered when %d are acknowledged: %v", acknowledged, err)
			default:
			}
			s.acknowledge(1)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestSplitSurvivesAnImpatientTask would catch a split that is lost because the task stopped
// waiting for it and asked again.
func TestSplitSurvivesAnImpatientTask(t *testing.T) {
	requests := 0
	s := &subtask{
		activity: newActivity(time.Now),
		wake:     make(chan struct{}, 1),
		splits:   make(chan *jobgraph.Split, 1),
		post:     func(context.Context, event) error { requests++; return nil },
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		if _, err := operator.NextSplit(impatient, s); !errors.Is(err, context.Canceled) {
			t.Fatalf("impatient request gives %v", err)
		}
	}
	s.assign(&jobgraph.Split{Base: "a/"})
	if split, err := operator.NextSplit(t.Context(), s); err != nil || split.Base != "a/" {
		t.Errorf("split is %q, %v, want a/", split.Base, err)
	}
	if requests != 1 {
		t.Errorf("%d splits are requested, want 1", requests)
	}
	s.assign(nil)
	for range 2 { // no request after the last split
		if _, err := operator.NextSplit(t.Context(), s); !errors.Is(err, io.EOF) {
			t.Errorf("after the last split: %v, want io.EOF", err)
		}
	}
	if requests != 2 {
		t.Errorf("%d splits are requested, want 2", requests)
	}
}
