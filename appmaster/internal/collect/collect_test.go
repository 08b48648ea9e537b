package collect

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	t.Run("a batch out of its order", func(t *testing.T) {
		t.Parallel()
		b := New(MaxBuffered, 0, false)
		if _, err := b.Add(1, []byte("x")); !errors.Is(err, errOutOfOrder) {
			t.Errorf("got error %v", err)
		}
	})
	t.Run("a batch too large", func(t *testing.T) {
		t.Parallel()
		b := New(MaxBuffered, 0, false)
		if _, err := b.Add(0, make([]byte, operator.MaxCollectBatch+1)); !errors.Is(err, errOutOfOrder) {
			t.Errorf("got error %v", err)
		}
	})
	t.Run("an empty batch, because they could be many", func(t *testing.T) {
		t.Parallel()
		b := New(MaxBuffered, 0, false)
		if _, err := b.Add(0, nil); !errors.Is(err, errOutOfOrder) {
			t.Errorf("got error %v", err)
		}
	})
	t.Run("a task that was restarted too often, or its cursors would be those of the next master", func(t *testing.T) {
		t.Parallel()
		b := New(MaxBuffered, 1, false)
		for range maxResets {
			b.Reset()
		}
		if _, err := b.Add(0, []byte("x")); err != nil {
			t.Errorf("after %d restarts: %v", maxResets, err)
		}
		if page, _, err := b.Page(0); err != nil || page.Epoch >= 2*masterSize {
			t.Errorf("after %d restarts: epoch %d, error %v", maxResets, page.Epoch, err)
		}
		b.Reset()
		if _, err := b.Add(0, []byte("x")); !errors.Is(err, ErrTooLarge) {
			t.Errorf("after one more: got error %v", err)
		}
	})
	t.Run("a result too large, though the client reads it", func(t *testing.T) {
		t.Parallel()
		b := New(MaxBuffered, 0, false)
		batch := make([]byte, operator.MaxCollectBatch)
		n := int64(0)
		for ; n < maxTotal/operator.MaxCollectBatch; n++ {
			if _, err := b.Add(n, batch); err != nil {
				t.Fatalf("batch %d: %v", n, err)
			}
			if _, _, err := b.Page(n + 1); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Add(n, []byte("x")); !errors.Is(err, ErrTooLarge) {
			t.Errorf("got error %v", err)
		}
	})
}

// It would catch a task that fills the JobMaster's memory because nothing stops it, and a task that is
// stopped and never continues.
func TestTaskIsHeldBackWhileNobodyReads(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"the most": MaxBuffered, "the least": LeastBuffered} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heldBack(t, New(limit, 0, false), limit)
			heldBack(t, New(limit, 0, true), limit)
		})
	}
}

func heldBack(t *testing.T, b *Buffer, limit int) {
	t.Helper()
	batch := make([]byte, operator.MaxCollectBatch)
	outstanding, held := 0, 0
	n := int64(0)
	for outstanding < msg.CollectWindow {
		a, err := b.Add(n, batch)
		if err != nil {
			t.Fatalf("batch %d: %v", n, err)
		}
		n++
		held += len(batch)
		outstanding += 1 - int(a.To-a.From)
	}
	if held > limit {
		t.Errorf("%d bytes are held, at most %d", held, limit)
	}
	if _, err := b.Add(n, batch); !errors.Is(err, errOutOfOrder) {
		t.Errorf("batch without room: got error %v", err)
	}
	page, a, err := b.Page(0)
	if err != nil || a.From != a.To || page.Next == 0 {
		t.Fatalf("first page: next %d, acknowledged %v, error %v", page.Next, a, err)
	}
	for a.To != n && err == nil && len(page.Records) > 0 {
		page, a, err = b.Page(page.Next)
	}
	if err != nil || a.To != n {
		t.Errorf("when the client has read: acknowledged %v, want all %d; error %v", a, n, err)
	}
}

// It would catch a job without a client that holds what it collects.
func TestNothingIsHeldThatNobodyComesFor(t *testing.T) {
	t.Parallel()
	b := New(0, 0, false)
	for n := range int64(100) {
		if a, err := b.Add(n, make([]byte, operator.MaxCollectBatch)); err != nil || a.To != n+1 || b.Size() != 0 {
			t.Fatalf("batch %d: acknowledged %v, %d bytes are held, error %v", n, a, b.Size(), err)
		}
	}
	if _, _, err := b.Page(0); !errors.Is(err, msg.ErrResultGone) {
		t.Errorf("page: got error %v", err)
	}
	b.End()
	if page, _, err := b.Page(100); err != nil || !page.End {
		t.Errorf("last page: %+v, error %v", page, err)
	}
}

func TestCursors(t *testing.T) {
	t.Parallel()
	b := New(MaxBuffered, 0, false)
	for i, text := range []string{"a", "b", "c"} {
		if _, err := b.Add(int64(i), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(cursor int64, want string, next int64, end bool) {
		t.Helper()
		page, _, err := b.Page(cursor)
		if err != nil || string(page.Records) != want || page.Next != next || page.End != end {
			t.Errorf("page %d: %q, next %d, end %t, error %v; want %q, %d, %t", cursor, page.Records, page.Next, page.End, err, want, next, end)
		}
	}
	read(0, "abc", 3, false)
	read(0, "abc", 3, false) // the answer was lost: again
	read(2, "c", 3, false)
	for _, gone := range []int64{0, 1, 4} {
		if _, _, err := b.Page(gone); !errors.Is(err, msg.ErrResultGone) {
			t.Errorf("page %d: got error %v", gone, err)
		}
	}
	b.Reset()
	const second = epochSize
	read(2, "", second, false) // of the last epoch: stands for the beginning of this one
	if _, err := b.Add(0, []byte("d")); err != nil {
		t.Fatal(err)
	}
	read(2, "d", second+1, false)
	b.End()
	if b.Drained() {
		t.Error("drained before the last page was read")
	}
	read(3, "d", second+1, true)
	if !b.Drained() {
		t.Error("not drained after the last page was read")
	}
	read(second+1, "", second+1, true)
	if page, _, _ := b.Page(second + 1); page.Epoch != 1 || Nothing(second+1).Epoch != 1 {
		t.Errorf("epoch %d, want 1", page.Epoch)
	}
}

// TestClientReadsWhatTheTaskSent would catch a record that is lost, duplicated or kept from a void epoch,
// in any order of calls, also if the job runs again under another master whose results have as many batches, and if
// another master has the result after the job's end.
func TestClientReadsWhatTheTaskSent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(LeastBuffered, MaxBuffered).Draw(t, "limit")
		master := ids.Epoch(1)
		keep := rapid.Bool().Draw(t, "keep")
		b := New(limit, master, keep)
		var sent, got []byte
		var sequence, acknowledged, cursor int64
		epoch := -1
		note := func(a Acknowledged) {
			if a.From != acknowledged {
				t.Fatalf("acknowledged from %d, want %d", a.From, acknowledged)
			}
			acknowledged = a.To
		}
		read := func() msg.CollectPage {
			page, a, err := b.Page(cursor)
			if err != nil {
				t.Fatal(err)
			}
			note(a)
			if !rapid.Bool().Draw(t, "answer arrives") {
				page.End = false
				return page
			}
			if page.Epoch != epoch {
				got, epoch = nil, page.Epoch
			}
			got = append(got, page.Records...)
			cursor = page.Next
			return page
		}
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "action") {
			case 0:
				if rapid.Bool().Draw(t, "another master") {
					master++
					b = New(limit, master, keep)
				} else {
					b.Reset()
				}
				sent, sequence, acknowledged = nil, 0, 0
			case 1, 2, 3, 4, 5:
				if sequence-acknowledged >= msg.CollectWindow {
					continue
				}
				batch := bytes.Repeat([]byte{byte(sequence)}, rapid.IntRange(1, operator.MaxCollectBatch).Draw(t, "size"))
				a, err := b.Add(sequence, batch)
				if err != nil {
					t.Fatal(err)
				}
				sequence++
				note(a)
				sent = append(sent, batch...)
				if b.Size() > limit {
					t.Fatalf("%d bytes are held, at most %d", b.Size(), limit)
				}
			default:
				read()
			}
		}
		b.End()
		decoded := rapid.Bool().Draw(t, "another master reads it")
		if decoded {
			text := b.AppendTo([]byte("before"))
			if len(text) > len("before")+b.EncodedSize() {
				t.Fatalf("%d bytes are more than %d", len(text)-len("before"), b.EncodedSize())
			}
			there, rest, err := Decode(append(text, "behind"...)[len("before"):])
			if err != nil || string(rest) != "behind" || there.Size() != b.Size() {
				t.Fatalf("decoded with %d of %d bytes, rest %q, error %v", there.Size(), b.Size(), rest, err)
			}
			b, acknowledged = there, 0
		}
		for !read().End {
		}
		if !bytes.Equal(got, sent) {
			t.Fatalf("client has %d bytes, task sent %d", len(got), len(sent))
		}
		if keep && !decoded && len(sent) <= limit-LeastBuffered { // the client begins again
			for got, cursor, epoch = nil, 0, -1; !read().End; {
			}
			if !bytes.Equal(got, sent) {
				t.Fatalf("client has %d bytes the second time, task sent %d", len(got), len(sent))
			}
		}
	})
}
