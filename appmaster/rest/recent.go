package rest

import (
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

const (
	// longestRecent is how long an answer is kept for the next one who asks for the same.
	longestRecent = time.Second
	// mostRecent bounds the bytes of the answers that are kept, each with its key and recentEntry for the rest.
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
}

type recentAnswer struct {
	key  string
	at   time.Time
	told reply
}

// size is what an answer counts against mostRecent, in bytes: there are some hundred answers at most.
func (k *recentAnswer) size() int { return recentEntry + len(k.key) + len(k.told.body) }

// answer returns an answer that is not older than the given age, or composes a new one. Its age counts from the beginning of its
// composition.
func (a *recent) answer(key string, age time.Duration, compose func() (reply, error)) (reply, error) {
	began := time.Now()
	if told, found := a.find(key, age, began); found {
		return told, nil
	}
	told, err := compose()
	if err == nil {
		a.keep(key, told, began)
	}
	return told, err
}

// find returns the answer with this key, if it is not older than the request takes.
func (a *recent) find(key string, age time.Duration, now time.Time) (reply, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(now)
	for _, k := range a.kept {
		if k.key == key && now.Sub(k.at) <= age {
			return k.told, true
		}
	}
	return reply{}, false
}

// keep takes an answer in place of an older one with its key. It takes none that is larger than all room.
func (a *recent) keep(key string, told reply, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(now)
	for i, k := range a.kept {
		if k.key == key {
			a.drop(i)
			break
		}
	}
	one := recentAnswer{key, now, told}
	if one.size() > mostRecent {
		return
	}
	for a.bytes+one.size() > mostRecent {
		a.drop(0)
	}
	a.kept = append(a.kept, one)
	a.bytes += one.size()
}

// forget drops the answers that nobody takes any more.
func (a *recent) forget(now time.Time) {
	for len(a.kept) > 0 && now.Sub(a.kept[0].at) > longestRecent {
		a.drop(0)
	}
}

func (a *recent) drop(i int) {
	a.bytes -= a.kept[i].size()
	a.kept = append(a.kept[:i], a.kept[i+1:]...)
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
