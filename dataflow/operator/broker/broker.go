// Package broker divides the managed memory of one process among the operators that run in it, by need.
//
// An operator opens an account, takes memory as its state grows, and gives it back. Nothing waits: an account that is refused must
// do with what it has, for which operators write state to files. So there is no deadlock, and no order of tasks matters.
//
// The shares divide all memory. They are equal, but for accounts that have bounds: these get no less than their least memory and no
// more than their most, and the others divide the rest. An account that takes no more has what it holds as its share.
//
// Three rules decide. An account may always hold its least memory. Half of its share is kept for each account, as far as the account
// does not hold it yet; any account may take the rest. An account that is refused below its share has a claim: the accounts above
// their shares get nothing more, and are told to give back the excess. A claim ends when the account asks for more than its share, or
// takes no more.
//
// A Broker is a locked object without goroutines. The package imports nothing of Bobbin.
package broker

import (
	"math"
	"sort"
	"sync"
)

// Broker is the managed memory of a process. Any goroutine may call its methods, and those of its accounts. The zero value has no
// memory. With any number of accounts, a call costs the same, except for the first Take above an account's least memory after shares
// have changed: it looks at each account.
type Broker struct {
	mu       sync.Mutex // guards everything here, and in the accounts
	total    int64
	held     int64 // by all accounts
	claims   int   // accounts that have one
	accounts []*Account

	leasts int64          // of all accounts
	owed   int64          // what accounts that go on taking do not hold of their leasts
	bounds map[bounds]int // how many such accounts have these bounds
	spent  int64          // held by the others

	level int64 // see divide; -1: the shares have changed
	kept  int64 // for all accounts, beside what they hold; -1: the shares have changed
}

// bounds are those of an account.
type bounds struct {
	least int64
	most  int64 // math.MaxInt64: no bound
}

// Account is the memory of one operator.
type Account struct {
	broker *Broker
	bounds
	held   int64
	claim  bool
	noMore bool // it takes no more, or is closed
	at     int  // its index in Broker.accounts; -1: it is closed
}

// Resize sets the memory that there is, in bytes. If there was more, nobody gets any until enough was given back.
func (b *Broker) Resize(total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total = max(total, 0)
	b.changed()
}

// Usage returns the bytes that the accounts hold, and all that there are. The first may exceed the second: see Open.
func (b *Broker) Usage() (held, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held, b.total
}

// Open makes an account. It may always hold least bytes, also if those of all accounts exceed the memory; then fits is false. It
// never holds more than most bytes; 0 is no bound.
func (b *Broker) Open(least, most int64) (a *Account, fits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if most == 0 {
		most = math.MaxInt64
	}
	a = &Account{broker: b, bounds: bounds{least, most}, at: len(b.accounts)}
	b.accounts = append(b.accounts, a)
	b.leasts += least
	a.begin()
	return a, b.leasts <= b.total
}

// begin counts an account that takes memory.
func (a *Account) begin() {
	b := a.broker
	if b.bounds == nil {
		b.bounds = make(map[bounds]int)
	}
	b.bounds[a.bounds]++
	b.owed += a.owed()
	b.changed()
}

// end says that the account takes no more.
func (a *Account) end() {
	if a.noMore {
		return
	}
	b := a.broker
	if b.bounds[a.bounds]--; b.bounds[a.bounds] == 0 {
		delete(b.bounds, a.bounds)
	}
	b.owed -= a.owed()
	b.spent += a.held
	a.noMore = true
	a.setClaim(false)
	b.changed()
}

// changed says that the shares are others from now on.
func (b *Broker) changed() { b.level, b.kept = -1, -1 }

// divide finds the level of the shares: the highest at which all memory is enough, but for the bounds of accounts.
func (b *Broker) divide() int64 {
	if b.level < 0 {
		b.level = int64(max(0, sort.Search(int(b.total)+1, func(level int) bool {
			all := b.spent
			for bounds, accounts := range b.bounds {
				all += int64(accounts) * bounds.within(int64(level))
			}
			return all > b.total
		})-1))
	}
	return b.level
}

// within is the share of an account with these bounds at a level.
func (b bounds) within(level int64) int64 { return max(b.least, min(level, b.most)) }

// share is the account's part of the memory.
func (a *Account) share() int64 {
	if a.noMore {
		return a.held
	}
	return a.within(a.broker.divide())
}

// owed is what the account does not hold of its least memory.
func (a *Account) owed() int64 { return max(0, a.least-a.held) }

// keeps is what the account does not hold of the memory that is kept for it.
func (a *Account) keeps() int64 {
	if a.noMore {
		return 0
	}
	return max(0, max(a.least, a.share()/2)-a.held)
}

// keepsAll sums what is kept for all accounts.
func (b *Broker) keepsAll() int64 {
	if b.kept < 0 {
		b.kept = 0
		for _, a := range b.accounts {
			b.kept += a.keeps()
		}
	}
	return b.kept
}

// add changes what the account holds.
func (a *Account) add(bytes int64) {
	b := a.broker
	b.held += bytes
	if a.noMore {
		a.held += bytes
		b.spent += bytes
		b.changed()
		return
	}
	b.owed -= a.owed()
	if b.kept >= 0 {
		b.kept -= a.keeps()
	}
	a.held += bytes
	b.owed += a.owed()
	if b.kept >= 0 {
		b.kept += a.keeps()
	}
}

// setClaim sets whether the account has a claim.
func (a *Account) setClaim(claim bool) {
	switch {
	case claim && !a.claim:
		a.broker.claims++
	case !claim && a.claim:
		a.broker.claims--
	}
	a.claim = claim
}

// Take reserves bytes, or returns false and reserves nothing.
func (a *Account) Take(bytes int64) bool {
	a.broker.mu.Lock()
	defer a.broker.mu.Unlock()
	wants := a.held + bytes
	if a.noMore {
		return false
	}
	granted := wants <= a.most && a.granted(bytes)
	switch {
	case wants > a.share():
		a.setClaim(false)
	case !granted:
		a.setClaim(true)
	}
	if granted {
		a.add(bytes)
	}
	return granted
}

// granted decides about a Take within the bounds of the account.
func (a *Account) granted(bytes int64) bool {
	b := a.broker
	wants := a.held + bytes
	switch free := b.total - b.held; {
	case wants <= a.least:
		return true
	case wants > a.share() && a.claimed() || bytes > free-(b.owed-a.owed()): // less is not kept, and that costs nothing with many accounts
		return false
	default:
		return bytes <= free-(b.keepsAll()-a.keeps())
	}
}

// claimed reports whether another account has a claim.
func (a *Account) claimed() bool {
	return a.broker.claims > 1 || a.broker.claims == 1 && !a.claim
}

// Give returns bytes that Take reserved.
func (a *Account) Give(bytes int64) {
	a.broker.mu.Lock()
	defer a.broker.mu.Unlock()
	if a.at >= 0 {
		a.add(-bytes)
	}
}

// NoMore says that the account takes no more, and only gives back what it holds: Take returns false from now on. The other accounts
// divide the rest of the memory.
func (a *Account) NoMore() {
	a.broker.mu.Lock()
	defer a.broker.mu.Unlock()
	a.end()
}

// Share is the account's part of the memory, in bytes, and at least what it may always hold. An account that goes on asking gets it in
// the end.
func (a *Account) Share() int64 {
	a.broker.mu.Lock()
	defer a.broker.mu.Unlock()
	return a.share()
}

// Total is all the memory that there is, in bytes, and at least what the account may always hold.
func (a *Account) Total() int64 {
	a.broker.mu.Lock()
	defer a.broker.mu.Unlock()
	return max(a.broker.total, a.least)
}

// Excess is what the account should give back, in bytes: what it holds above its share while another account has a claim, or while
// more is held than there is.
func (a *Account) Excess() int64 {
	b := a.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if !a.claimed() && b.held <= b.total {
		return 0
	}
	return max(0, a.held-a.share())
}

// Close gives everything back. Further calls do nothing, and Take returns false.
func (a *Account) Close() {
	b := a.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.at < 0 {
		return
	}
	last := b.accounts[len(b.accounts)-1]
	b.accounts[a.at], last.at = last, a.at
	b.accounts[len(b.accounts)-1] = nil
	b.accounts = b.accounts[:len(b.accounts)-1]
	a.end()
	b.leasts -= a.least
	b.held -= a.held
	b.spent -= a.held
	a.held, a.at = 0, -1
	b.changed()
}
