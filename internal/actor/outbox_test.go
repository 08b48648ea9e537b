package actor

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestOutboxAgainstANaiveOne would catch an item that is lost, doubled, out of order, delivered
// after a newer item has replaced it, or accepted beyond the bound. It would also catch a full
// outbox that is not reported, is reported twice, or accepts more items.
func TestOutboxAgainstANaiveOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(0, 6).Draw(t, "room")
		told := 0
		o := NewOutbox[int](room, func() { told++ })
		type item struct {
			number int
			name   string
		}
		var model []item
		number, closed, overflowed := 0, false, 0
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				number++
				name := rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "name")
				if name != "" && !closed {
					model = slices.DeleteFunc(model, func(i item) bool { return i.name == name })
				}
				want := !closed && (room == 0 || len(model) < room)
				if got := o.Put(number, name); got != want {
					t.Fatalf("put with %d of %d places taken: %t", len(model), room, got)
				}
				switch {
				case want:
					model = append(model, item{number, name})
				case !closed:
					closed, overflowed = true, 1
				}
			},
			"next": func(t *rapid.T) {
				got, some := o.Next()
				if some != (len(model) > 0) || some && got != model[0].number {
					t.Fatalf("next gives %d, %t of %v", got, some, model)
				}
				if some {
					model = model[1:]
				}
			},
			"room": func(t *rapid.T) {
				room = rapid.IntRange(0, 6).Draw(t, "room")
				o.SetRoom(room)
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "often not") == 0 {
					o.Close()
					closed = true
				}
			},
			"": func(t *rapid.T) {
				if told != overflowed {
					t.Fatalf("the overflow was told %d times, want %d", told, overflowed)
				}
				if o.Idle() != (len(model) == 0) {
					t.Fatalf("idle is %t with %d waiting", o.Idle(), len(model))
				}
			},
		})
	})
}

// TestServeTakesAllUntilItIsClosed would catch an item that is put just before the end, or while
// Serve does not look, and is not delivered.
func TestServeTakesAllUntilItIsClosed(t *testing.T) {
	t.Parallel()
	o := NewOutbox[string](0, nil)
	var got []string
	var serving sync.WaitGroup
	serving.Go(func() {
		o.Serve(t.Context(), func(s string) bool {
			got = append(got, s)
			return true
		})
	})
	var want []string
	for i := range 1000 {
		want = append(want, fmt.Sprint(i))
		o.Put(want[i], "")
	}
	o.Close()
	serving.Wait()
	if !slices.Equal(got, want) {
		t.Errorf("%d items were delivered, want %d in order", len(got), len(want))
	}
	if o.Put("late", "") {
		t.Error("a closed outbox takes an item")
	}
}

// TestServeStopsWhereItIsTold would catch an item that is taken and lost after the last one.
func TestServeStopsWhereItIsTold(t *testing.T) {
	t.Parallel()
	o := NewOutbox[string](0, nil)
	o.Put("the end", "")
	o.Put("behind it", "")
	o.Serve(t.Context(), func(s string) bool { return s != "the end" })
	if left, some := o.Next(); !some || left != "behind it" {
		t.Errorf("%q is left, %t", left, some)
	}
}
