package broker_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/operator/broker"
)

// owner is an account and what the test knows of it.
type owner struct {
	account           *broker.Account
	least, most, held int64
}

// Random histories. It would catch memory that is counted twice or lost, more memory than there is, a refusal of what is promised, and a
// bound that does not hold.
func TestAccountsStayWithinTheMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			b      broker.Broker
			owners []*owner
			total  int64
		)
		sum := func(of func(*owner) int64) (n int64) {
			for _, o := range owners {
				n += of(o)
			}
			return n
		}
		resize := func(t *rapid.T) {
			total = rapid.Int64Range(0, 200).Draw(t, "total")
			b.Resize(total)
		}
		some := func(t *rapid.T) *owner {
			if len(owners) == 0 {
				t.Skip("no account is open")
			}
			return rapid.SampledFrom(owners).Draw(t, "owner")
		}
		resize(t)
		t.Repeat(map[string]func(*rapid.T){
			"resize": resize,
			"open": func(t *rapid.T) {
				o := &owner{least: rapid.Int64Range(0, 20).Draw(t, "least")}
				if rapid.Bool().Draw(t, "bounded") {
					o.most = o.least + rapid.Int64Range(1, 50).Draw(t, "more")
				}
				var fits bool
				o.account, fits = b.Open(o.least, o.most)
				owners = append(owners, o)
				if least := sum(func(o *owner) int64 { return o.least }); fits != (least <= total) {
					t.Fatalf("fits is %v, with %d bytes promised of %d", fits, least, total)
				}
			},
			"take": func(t *rapid.T) {
				o, bytes := some(t), rapid.Int64Range(0, 60).Draw(t, "bytes")
				promised := o.held+bytes <= o.least
				all := sum(func(o *owner) int64 { return max(o.held, o.least) })
				switch taken := o.account.Take(bytes); {
				case promised && !taken:
					t.Fatalf("an account with %d of %d promised bytes does not get %d", o.held, o.least, bytes)
				case !taken:
				case o.most > 0 && o.held+bytes > o.most:
					t.Fatalf("an account that may hold %d bytes has %d", o.most, o.held+bytes)
				case !promised && all-max(o.held, o.least)+o.held+bytes > total:
					t.Fatalf("%d bytes are taken of %d, of which %d are held or promised", bytes, total, all)
				default:
					o.held += bytes
				}
			},
			"give": func(t *rapid.T) {
				o := some(t)
				bytes := rapid.Int64Range(0, o.held).Draw(t, "bytes")
				o.account.Give(bytes)
				o.held -= bytes
			},
			"close": func(t *rapid.T) {
				o := some(t)
				o.account.Close()
				owners = slices.DeleteFunc(owners, func(other *owner) bool { return other == o })
				if o.account.Take(1) {
					t.Fatal("a closed account gets memory")
				}
			},
			"": func(t *rapid.T) {
				held, of := b.Usage()
				if want := sum(func(o *owner) int64 { return o.held }); held != want || of != total {
					t.Fatalf("%d of %d bytes are held, want %d of %d", held, of, want, total)
				}
				for _, o := range owners {
					if excess := o.account.Excess(); excess > max(0, o.held-o.account.Share()) {
						t.Fatalf("an account with %d bytes shall give %d back, below its share of %d", o.held, excess, o.account.Share())
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
	if most := 400 - 400/3/2 - 10; !first.Take(int64(most)) || first.Take(1) {
		t.Errorf("the first account does not get %d bytes, or more", most)
	}
	if !second.Take(400/3/2) || !small.Take(10) {
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
