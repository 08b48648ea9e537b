package broker_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/operator/broker"
)

// owner is an account and what the test knows of it.
type owner struct {
	account           *broker.Account
	least, most, held int64
	claim, noMore     bool
	share             int64
}

// model says what the broker must do, from the accounts alone, and without a sum that goes along.
type model struct {
	total  int64
	owners []*owner
}

func (m *model) sum(of func(*owner) int64) (n int64) {
	for _, o := range m.owners {
		n += of(o)
	}
	return n
}

// divide gives each account its least memory, or what it holds if it takes no more. Then it goes on round by round, with one byte for
// each account that has the least and may have more, as long as there is enough for a round.
func (m *model) divide() {
	for _, o := range m.owners {
		o.share = o.least
		if o.noMore {
			o.share = o.held
		}
	}
	for level := int64(0); level < m.total; level++ {
		var round []*owner
		for _, o := range m.owners {
			if !o.noMore && o.share <= level && (o.most == 0 || o.share < o.most) {
				round = append(round, o)
			}
		}
		if m.sum(func(o *owner) int64 { return o.share })+int64(len(round)) > m.total {
			return
		}
		for _, o := range round {
			o.share++
		}
	}
}

// claimed reports whether an account other than o has a claim.
func (m *model) claimed(o *owner) bool {
	return slices.ContainsFunc(m.owners, func(other *owner) bool { return other != o && other.claim })
}

// take decides about a Take, and keeps what it changes.
func (m *model) take(o *owner, bytes int64) (taken bool) {
	wants := o.held + bytes
	if o.noMore {
		return false
	}
	others := m.sum(func(other *owner) int64 {
		if other == o {
			return 0
		}
		if other.noMore {
			return other.held
		}
		return max(other.held, other.least, other.share/2)
	})
	switch {
	case o.most > 0 && wants > o.most:
	case wants <= o.least:
		taken = true
	case wants <= o.share || !m.claimed(o):
		taken = wants+others <= m.total
	}
	if taken {
		o.held = wants
	}
	o.claim = wants <= o.share && (o.claim || !taken)
	return taken
}

// Random histories. It would catch memory that is counted twice or lost, more memory than there is, memory that lies idle because an
// account has a bound or takes no more, a refusal of what is promised, and a bound or a claim that does not hold, or never ends.
func TestAccountsDivideTheMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b broker.Broker
		var m model
		resize := func(t *rapid.T) {
			m.total = rapid.Int64Range(0, 200).Draw(t, "total")
			b.Resize(m.total)
			m.divide()
		}
		some := func(t *rapid.T) *owner {
			if len(m.owners) == 0 {
				t.Skip("no account is open")
			}
			return rapid.SampledFrom(m.owners).Draw(t, "owner")
		}
		open := func(t *rapid.T) {
			o := &owner{least: rapid.Int64Range(0, 20).Draw(t, "least")}
			if rapid.Bool().Draw(t, "bounded") {
				o.most = o.least + rapid.Int64Range(1, 50).Draw(t, "more")
			}
			var fits bool
			o.account, fits = b.Open(o.least, o.most)
			m.owners = append(m.owners, o)
			m.divide()
			if least := m.sum(func(o *owner) int64 { return o.least }); fits != (least <= m.total) {
				t.Fatalf("fits is %v, with %d bytes promised of %d", fits, least, m.total)
			}
		}
		resize(t)
		for range rapid.IntRange(0, 6).Draw(t, "accounts") {
			open(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"resize": resize,
			"open":   open,
			"take": func(t *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(t, "times") { // so that memory is scarce
					o, bytes := some(t), rapid.Int64Range(1, 20).Draw(t, "bytes")
					before := *o
					if taken, want := o.account.Take(bytes), m.take(o, bytes); taken != want {
						t.Fatalf("%+v takes %d: %v, want %v", before, bytes, taken, want)
					}
				}
			},
			"give": func(t *rapid.T) {
				o := some(t)
				bytes := rapid.Int64Range(0, o.held).Draw(t, "bytes")
				o.account.Give(bytes)
				o.held -= bytes
				m.divide()
			},
			"no more": func(t *rapid.T) {
				o := some(t)
				o.account.NoMore()
				o.noMore, o.claim = true, false
				m.divide()
			},
			"close": func(t *rapid.T) {
				o := some(t)
				o.account.Close()
				m.owners = slices.DeleteFunc(m.owners, func(other *owner) bool { return other == o })
				m.divide()
				if o.account.Take(1) {
					t.Fatal("a closed account gets memory")
				}
			},
			"": func(t *rapid.T) {
				held, of := b.Usage()
				if want := m.sum(func(o *owner) int64 { return o.held }); held != want || of != m.total {
					t.Fatalf("%d of %d bytes are held, want %d of %d", held, of, want, m.total)
				}
				for _, o := range m.owners {
					excess := int64(0)
					if m.claimed(o) || held > m.total {
						excess = max(0, o.held-o.share)
					}
					if share := o.account.Share(); share != o.share || o.account.Excess() != excess {
						t.Fatalf("%+v: share %d and excess %d, want %d and %d", *o, share, o.account.Excess(), o.share, excess)
					}
				}
			},
		})
	})
}

// Operators that want all they can get, as a sort does: one that is refused writes files, gives its excess back, and fills what it has
// once more. It would catch an operator that holds more than the others for good, or that gets nothing.
func TestEachThatAsksGetsItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const step = 4
		total := rapid.Int64Range(100, 1000).Draw(t, "total")
		var b broker.Broker
		b.Resize(total)
		owners := make([]*owner, rapid.IntRange(1, 6).Draw(t, "owners"))
		for i := range owners {
			owners[i] = new(owner)
			owners[i].account, _ = b.Open(step, 0)
		}
		turn := func(o *owner) {
			if o.account.Take(step) {
				o.held += step
				return
			}
			excess := o.account.Excess()
			o.account.Give(excess)
			o.held -= excess
		}
		for range rapid.IntRange(0, 300).Draw(t, "unfair turns") { // the first ones are faster
			turn(owners[rapid.IntRange(0, rapid.IntRange(0, len(owners)-1).Draw(t, "bound")).Draw(t, "owner")])
		}
		for range 2 * total / step {
			for _, o := range owners {
				turn(o)
			}
		}
		share := total / int64(len(owners))
		for i, o := range owners {
			if o.held <= share-step {
				t.Fatalf("account %d holds %d bytes, its share is %d", i, o.held, share)
			}
		}
	})
}

// An account that is alone gets all but what is kept for the others, and the others get their halves without a refusal.
func TestHalfAShareIsKept(t *testing.T) {
	var b broker.Broker
	b.Resize(400)
	first, _ := b.Open(10, 0)
	second, _ := b.Open(10, 0)
	small, _ := b.Open(10, 20)
	const share = (400 - 20) / 2 // the small one needs no more than 20
	if most := 400 - share/2 - 10; !first.Take(int64(most)) || first.Take(1) {
		t.Errorf("the first account does not get %d bytes, or more", most)
	}
	if !second.Take(share/2) || !small.Take(10) {
		t.Error("the others do not get what is kept for them")
	}
	if first.Excess() != 0 {
		t.Error("memory is to be given back, and nobody has asked for more")
	}
	if second.Take(10) || first.Excess() == 0 {
		t.Error("nothing is to be given back when the second account was refused below its share")
	}
	second.Close()
	if first.Excess() != 0 {
		t.Error("a closed account still has its claim")
	}
}

// It would catch memory that lies idle while operators write files: an account with a bound cannot use an equal part.
func TestABoundedAccountLeavesTheRest(t *testing.T) {
	var b broker.Broker
	b.Resize(1000)
	for range 9 {
		b.Open(1, 4)
	}
	large, _ := b.Open(1, 0)
	if share := large.Share(); share != 1000-9*4 {
		t.Errorf("the share is %d bytes, want all but those of the bounded accounts", share)
	}
}

// An operator that has read its input may emit for hours. It would catch one that keeps memory which it will never take, and a claim
// that holds others back meanwhile.
func TestAnAccountThatTakesNoMoreLeavesTheRest(t *testing.T) {
	var b broker.Broker
	b.Resize(100)
	first, _ := b.Open(0, 0)
	second, _ := b.Open(0, 0)
	if !first.Take(70) || second.Take(40) || first.Excess() != 20 {
		t.Fatal("the second account has no claim")
	}
	second.Take(10)
	second.NoMore()
	if first.Excess() != 0 || first.Share() != 90 || !first.Take(20) || first.Take(1) {
		t.Error("the first account does not get all that the second one does not hold")
	}
	second.Give(5)
	if first.Share() != 95 || !first.Take(5) || second.Take(1) {
		t.Error("what is given back is not for the first account")
	}
}

// A Take must cost the same in a process with a thousand operators.
func BenchmarkTake(b *testing.B) {
	for _, accounts := range []int{1, 1000} {
		b.Run(fmt.Sprint(accounts), func(b *testing.B) {
			var broker broker.Broker
			broker.Resize(1 << 30)
			for range accounts - 1 {
				broker.Open(1<<10, 0)
			}
			account, _ := broker.Open(1<<10, 0)
			b.ReportAllocs()
			for b.Loop() {
				account.Take(4 << 10)
				account.Give(4 << 10)
			}
		})
	}
}

// BenchmarkOpen is what an operator costs at its begin and its end in a process with a thousand others.
func BenchmarkOpen(b *testing.B) {
	var broker broker.Broker
	broker.Resize(1 << 30)
	for range 1000 {
		broker.Open(1<<10, 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		account, _ := broker.Open(1<<10, 0)
		account.Close()
	}
}
