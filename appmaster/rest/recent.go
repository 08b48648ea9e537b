package rest

import (
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// longestRecent is how long an answer is kept for the next one who asks for the same, from the end of its composition.
	longestRecent = time.Second
	// mostRecent bounds the bytes of the answers that are kept, each with its key and recentEntry for the rest. One larger
	// answer is kept besides: see largeAnswer.
	mostRecent  = 2 << 20
	recentEntry = 8 << 10
	// maxAge is the query parameter for the age that a request takes, in ms. YARN's proxy passes on no Cache-Control.
	maxAge = "maxAge"
)

// recent keeps answers for a moment, so that ten people who look at a page cost the ApplicationMaster what one does. The
// page says which age it takes. Commands say nothing, so they see what they have just changed.
//
// The zero value has no answers. Any goroutine may use it.
type recent struct {
	mu    sync.Mutex     // guards what follows
	kept  []recentAnswer // the oldest first
	bytes int
	large *largeAnswer // the newest one; nil: none
}

// period is the time in which an answer was composed.
type period struct{ began, ended time.Time }

// serves reports whether a request takes an answer of that time: it is not older than the request says, or was still being composed
// when the request began to wait. Otherwise an answer that takes longer to compose than its age may be would be of no use to those
// who wait for the turn meanwhile.
func (p period) serves(age time.Duration, asked, now time.Time) bool {
	return now.Sub(p.began) <= age || p.ended.After(asked)
}

type recentAnswer struct {
	key  string
	when period
	told reply
}

// size is what an answer counts against mostRecent, in bytes: there are some hundred answers at most.
func (k *recentAnswer) size() int { return recentEntry + len(k.key) + len(k.told.body) }

// largeAnswer is an answer of more than mostRecent bytes that is kept. Once it is being written, it counts against the memory for
// answers, as one with those who read it; before, it is the view that has the turn. It leaves at once if another answer needs the
// memory.
type largeAnswer struct {
	key    string
	when   period
	told   atomic.Pointer[reply] // nil: it has left
	counts *answer               // in the room of the one who has composed it
}

// leave forgets the answer. A room may call it.
func (l *largeAnswer) leave() { l.told.Store(nil) }

// answer returns an answer that the request takes, which began to wait when it asked, or composes a new one. The age of an answer
// counts from the beginning of its composition.
func (a *recent) answer(one *answer, key string, age time.Duration, asked time.Time, compose func() (reply, error)) (reply, error) {
	began := time.Now()
	if told, found := a.find(key, age, asked, began); found {
		return told, nil
	}
	told, err := compose()
	if err == nil {
		a.keep(one, key, told, period{began, time.Now()})
	}
	return told, err
}

// find returns the answer with this key, if the request takes it.
func (a *recent) find(key string, age time.Duration, asked, now time.Time) (reply, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(now)
	if l := a.large; l != nil && l.key == key && l.when.serves(age, asked, now) {
		if told := l.told.Load(); told != nil {
			return *told, true
		}
	}
	for _, k := range a.kept {
		if k.key == key && k.when.serves(age, asked, now) {
			return k.told, true
		}
	}
	return reply{}, false
}

// keep takes the answer of a request in place of an older one with its key.
func (a *recent) keep(one *answer, key string, told reply, when period) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(when.ended)
	for i, k := range a.kept {
		if k.key == key {
			a.drop(i)
			break
		}
	}
	if a.large != nil && a.large.key == key {
		a.dropLarge()
	}
	k := recentAnswer{key, when, told}
	if k.size() > mostRecent {
		a.dropLarge()
		a.large = &largeAnswer{key: key, when: when, counts: &answer{room: one.room}}
		a.large.told.Store(&told)
		one.kept = a.large
		return
	}
	for a.bytes+k.size() > mostRecent {
		a.drop(0)
	}
	a.kept = append(a.kept, k)
	a.bytes += k.size()
}

// forget drops the answers that nobody takes any more.
func (a *recent) forget(now time.Time) {
	for len(a.kept) > 0 && now.Sub(a.kept[0].when.ended) > longestRecent {
		a.drop(0)
	}
	if a.large != nil && now.Sub(a.large.when.ended) > longestRecent {
		a.dropLarge()
	}
}

func (a *recent) drop(i int) {
	a.bytes -= a.kept[i].size()
	a.kept = append(a.kept[:i], a.kept[i+1:]...)
}

// dropLarge drops the large answer. It leaves first: then its room does not take it any more.
func (a *recent) dropLarge() {
	if a.large != nil {
		a.large.leave()
		a.large.counts.vacate()
		a.large = nil
	}
}

// recentKey returns the key of the answer to a request, and the age that the request takes; false: it takes a new one only.
func recentKey(r *http.Request) (key string, age time.Duration, takes bool) {
	query := r.URL.Query()
	ms, err := strconv.ParseInt(query.Get(maxAge), 10, 32)
	if err != nil || ms <= 0 {
		return "", 0, false
	}
	query.Del(maxAge)
	return (&url.URL{Path: r.URL.Path, RawQuery: query.Encode()}).String(), min(time.Duration(ms)*time.Millisecond, longestRecent), true
}
