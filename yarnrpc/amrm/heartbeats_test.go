package amrm

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// beats returns a number of allocates without news.
func beats(n int32) []exchange {
	var list []exchange
	for id := range n {
		list = append(list, exchange{method: "allocate", response: responseID(id + 1)})
	}
	return list
}

// It would catch an ApplicationMaster that waits a second for each container, and one
// that asks YARN ten times a second for nothing.
func TestHeartbeatsAreFastOnlyWhileContainersAreOutstanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given := &yarnpb.AllocateResponseProto{
			ResponseId: proto.Int32(2),
			AllocatedContainers: []*yarnpb.ContainerProto{pbconv.ContainerProto(records.Container{
				ID: records.ContainerID{Attempt: testAttempt, ID: 2}, Priority: 1, Resource: records.Resource{MemoryMB: 128, VCores: 1},
			})},
		}
		c, _ := scriptedClient(t,
			exchange{method: "allocate", response: responseID(1)},
			exchange{method: "allocate", response: given},
			exchange{method: "allocate", response: responseID(3)},
			exchange{method: "allocate", response: responseID(4)},
			exchange{method: "allocate", response: responseID(5)},
		)
		c.SetAsk(Ask{Key: AskKey{Priority: 1}, Capability: records.Resource{MemoryMB: 128, VCores: 1}, Count: 1})
		began := time.Now()
		var at []time.Duration
		for _, err := range c.Heartbeats(t.Context(), Pace{}) {
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, time.Since(began))
			if len(at) == 4 {
				c.Release(records.ContainerID{Attempt: testAttempt, ID: 2})
			}
			if len(at) == 5 {
				break
			}
		}
		want := []time.Duration{0, 100 * time.Millisecond, 1100 * time.Millisecond, 2100 * time.Millisecond, 2200 * time.Millisecond}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("beats (-want +got):\n%s", diff)
		}
	})
}

func TestHeartbeatsTellProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []float32
		list := beats(3)
		for i := range list {
			list[i].check = func(_ *testing.T, request proto.Message) {
				told = append(told, request.(*yarnpb.AllocateRequestProto).GetProgress())
			}
		}
		c, _ := scriptedClient(t, list...)
		next := float32(0)
		pace := Pace{Idle: time.Minute, Progress: func() float32 { next += 0.25; return next }}
		for range c.Heartbeats(t.Context(), pace) {
			if len(told) == 3 {
				break
			}
		}
		if want := []float32{0.25, 0.5, 0.75}; !slices.Equal(told, want) {
			t.Errorf("progress is told as %v, want %v", told, want)
		}
	})
}

// It would catch a master that gives up at the first broken connection.
func TestHeartbeatsGoOnAfterAnErrorIfTheirBodyDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &yarnrpc.CallError{Method: "allocate", Err: errors.New("broken pipe")}
		c, _ := scriptedClient(t, exchange{method: "allocate", err: broken}, exchange{method: "allocate", response: responseID(1)})
		var failed int
		for _, err := range c.Heartbeats(t.Context(), Pace{}) {
			if err == nil {
				break
			}
			failed++
		}
		if failed != 1 {
			t.Errorf("%d beats have failed, want 1", failed)
		}
	})
}

// It would catch a loop that spins, or hangs, when there is nothing left to do.
func TestHeartbeatsEndWithTheAttemptAndWithTheContext(t *testing.T) {
	t.Run("attempt", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, _ := scriptedClient(t, exchange{method: "allocate", err: exception("ApplicationAttemptNotFoundException", "who are you")})
			if got := errorsOf(c.Heartbeats(t.Context(), Pace{})); len(got) != 1 || !errors.Is(got[0], ErrAttemptGone) {
				t.Errorf("errors %v, want ErrAttemptGone once", got)
			}
		})
	})
	t.Run("context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			enough := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), 1500*time.Millisecond, enough)
			defer cancel()
			c, _ := scriptedClient(t, beats(2)...)
			if got := errorsOf(c.Heartbeats(ctx, Pace{})); len(got) != 3 || !errors.Is(got[2], enough) {
				t.Errorf("errors %v, want two nils and the context's cause", got)
			}
		})
	})
}

func errorsOf(heartbeats func(func(Response, error) bool)) []error {
	var list []error
	for _, err := range heartbeats {
		list = append(list, err)
	}
	return list
}
