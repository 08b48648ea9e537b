package actor

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestQueueAgainstANaiveOne would catch an item that is lost, doubled, out of its turn,
// taken although a newer one says the same, or beyond the bound.
func TestQueueAgainstANaiveOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(0, 6).Draw(t, "room")
		q := NewQueue[int](room)
		type item struct {
			number int
			name   string
		}
		var model []item
		number := 0
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				number++
				name := rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "name")
				if name != "" {
					model = slices.DeleteFunc(model, func(i item) bool { return i.name == name })
				}
				want := room == 0 || len(model) < room
				if got := q.Put(number, name); got != want {
					t.Fatalf("put with %d of %d places taken: %t", len(model), room, got)
				}
				if want {
					model = append(model, item{number, name})
				}
			},
			"next": func(t *rapid.T) {
				got, some := q.Next()
				if some != (len(model) > 0) || some && got != model[0].number {
					t.Fatalf("next gives %d, %t of %v", got, some, model)
				}
				if some {
					model = model[1:]
				}
			},
			"room": func(t *rapid.T) {
				room = rapid.IntRange(0, 6).Draw(t, "room")
				q.SetRoom(room)
			},
		})
	})
}

// TestDeliverTakesAllUntilItIsStopped would catch an item that is put just before the
// end, or while nobody looks, and is not delivered.
func TestDeliverTakesAllUntilItIsStopped(t *testing.T) {
	t.Parallel()
	q := NewQueue[string](0)
	stop := make(chan struct{})
	var got []string
	var delivering sync.WaitGroup
	delivering.Go(func() {
		q.Deliver(stop, func(s string) bool {
			got = append(got, s)
			return s != "the end"
		})
	})
	var want []string
	for i := range 1000 {
		want = append(want, fmt.Sprint(i))
		q.Put(want[i], "")
	}
	close(stop)
	delivering.Wait()
	if !slices.Equal(got, want) {
		t.Errorf("%d items were delivered, want %d in order", len(got), len(want))
	}

	q.Put("the end", "")
	q.Put("behind it", "")
	q.Deliver(nil, func(s string) bool { return s != "the end" })
	if left, some := q.Next(); !some || left != "behind it" {
		t.Errorf("%q is left, %t", left, some)
	}
}
