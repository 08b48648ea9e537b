// Package broker divides the managed memory of one process among the operators that run in it, by need.
//
// An operator opens an account, takes memory as its state grows, and gives it back. Nothing waits: an account that is refused must
// do with what it has, for which operators write state to files. So there is no deadlock, and no order of tasks matters.
//
// Three rules decide. An account may always hold its least memory. Half of an equal share is kept for each account, as far as
// the memory is not held yet; any account may take the rest. An account that is refused below its equal share has a claim from then
// on: the accounts above their shares get nothing more, and are told to give back the excess.
//
// A Broker is a locked object without goroutines. The package imports nothing of Bobbin.
package broker

import "sync"

// Broker is the managed memory of a process. Any goroutine may call its methods, and those of its accounts. The zero value has no
// memory.
type Broker struct {
	mu       sync.Mutex // guards everything here, and in the accounts
	total    int64
	held     int64 // by all accounts
	claims   int   // accounts that have one
	leasts   int64 // of all accounts
	owed     int64 // what the accounts do not hold of their leasts
	accounts []*Account
}

// Account is the memory of one operator.
type Account struct {
	broker *Broker
	least  int64
	most   int64 // 0: no bound
	held   int64
	claim  bool
	closed bool
	at     int // its index in Broker.accounts
}

// owed is what the account does not hold of its least memory.
func (a *Account) owed() int64 { return max(0, a.least-a.held) }

// add changes what the account holds.
func (a *Account) add(bytes int64) {
	b := a.broker
	b.owed -= a.owed()
	a.held += bytes
	b.held += bytes
	b.owed += a.owed()
}

// Resize sets the memory that there is, in bytes. If there was more, nobody gets any until enough was given back.
func (b *Broker) Resize(total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total = max(total, 0)
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
	a = &Account{broker: b, least: least, most: most, at: len(b.accounts)}
	b.accounts = append(b.accounts, a)
	b.leasts += least
	b.owed += a.owed()
	return a, b.leasts <= b.total
}

// Take reserves bytes, or returns false and reserves nothing.
func (a *Account) Take(bytes int64) bool {
	b := a.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.grants(a, bytes) {
		return false
	}
	a.add(bytes)
	return true
}

// grants decides about a Take. A refusal may leave the account with a claim.
func (b *Broker) grants(a *Account, bytes int64) bool {
	wants, share := a.held+bytes, b.share(a)
	switch {
	case a.closed || a.most > 0 && wants > a.most:
		return false
	case wants <= a.least:
		return true
	case wants > share && b.claimed(a):
		return false
	case bytes <= b.total-b.held-(b.owed-a.owed()) && bytes <= b.free(a): // the first is a bound that costs nothing with many accounts
		return true
	}
	if wants <= share && !a.claim {
		a.claim = true
		b.claims++
	}
	return false
}

// share is an equal part of the memory for an account.
func (b *Broker) share(a *Account) int64 {
	share := max(b.total/int64(max(1, len(b.accounts))), a.least)
	if a.most > 0 {
		share = min(share, a.most)
	}
	return share
}

// claimed reports whether another account has a claim.
func (b *Broker) claimed(a *Account) bool { return b.claims > 1 || b.claims == 1 && !a.claim }

// free is what an account can get beside the memory that is held, and kept for the others. It may be negative.
func (b *Broker) free(a *Account) int64 {
	free := b.total - b.held
	for _, other := range b.accounts {
		if other != a {
			free -= max(0, max(other.least, b.share(other)/2)-other.held)
		}
	}
	return free
}

// Give returns bytes that Take reserved.
func (a *Account) Give(bytes int64) {
	a.broker.mu.Lock()
	defer a.broker.mu.Unlock()
	if a.closed {
		return
	}
	a.add(-bytes)
}

// Share is an equal part of the memory, in bytes, and at least what the account may always hold. An account that goes on asking gets
// it in the end.
func (a *Account) Share() int64 {
	a.broker.mu.Lock()
	defer a.broker.mu.Unlock()
	return a.broker.share(a)
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
	if !b.claimed(a) && b.held <= b.total {
		return 0
	}
	return max(0, a.held-b.share(a))
}

// Close gives everything back. Further calls do nothing, and Take returns false.
func (a *Account) Close() {
	b := a.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.closed {
		return
	}
	a.closed = true
	b.held -= a.held
	b.leasts -= a.least
	b.owed -= a.owed()
	if a.claim {
		b.claims--
	}
	last := b.accounts[len(b.accounts)-1]
	b.accounts[a.at], last.at = last, a.at
	b.accounts[len(b.accounts)-1] = nil
	b.accounts = b.accounts[:len(b.accounts)-1]
}
