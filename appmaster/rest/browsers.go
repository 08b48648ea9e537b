package rest

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// Limits of the browsers that links let in. When a user or all users together have more, the oldest link goes, and
// the browser that has been silent for the longest time.
const (
	linkTime    = time.Minute
	browserTime = 12 * time.Hour

	maxLinks         = 64
	maxLinksOfOne    = 4
	maxBrowsers      = 256
	maxBrowsersOfOne = 16
)

// errLink refuses the key of a link. It does not say which of the reasons applies.
var errLink = errors.New("this link has been used, is older than a minute, or comes from an earlier ApplicationMaster")

// errTaken refuses the key of a link to a second browser, while the first one may still need it.
var errTaken = errors.New("another browser has come by this link: if you have not opened it there, somebody else has read it")

// browsers are the links that open the page for changes, and the browsers that they have let in. A browser has the
// rights of the user who asked for its link. Links and browsers end with the process, because only its memory has
// them. It has only the hashes of secrets.
//
// Make one with newBrowsers. Its methods may be called from any goroutine.
type browsers struct {
	// cookie is the name of the cookie. Browsers send a cookie to all ports of a host, so the name differs between
	// the ApplicationMasters of a node. The prefix makes browsers refuse a cookie that is not Secure, or that another
	// host sets (RFC 6265bis §4.1.3).
	cookie string

	mu    sync.Mutex // guards the rest
	links []link     // the oldest first
	open  []browser  // the one that has been silent for the longest time first
}

// digest is the SHA-256 of a secret.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

func (d digest) equals(other digest) bool { return subtle.ConstantTimeCompare(d[:], other[:]) == 1 }

// link lets one browser in. It is used up when the browser shows its cookie with the value of HeaderCSRF: the answer may be lost, or
// only its body, which has that value, and then the link must open again, in the same browser (restapi.HeaderBrowser). Each time it
// ends the cookie of the time before, so that no two browsers come by one link, and none ends the access of another one.
type link struct {
	key     digest
	by      caller // who asked for it
	end     time.Time
	taken   bool   // a browser has come by it
	browser digest // of that browser's HeaderBrowser
}

// browser is a browser with a cookie.
type browser struct {
	cookie, csrf digest
	link         digest // its link's key until it shows the cookie and the CSRF value; then zero
	by           caller // who asked for its link
	end          time.Time
}

func newBrowsers() *browsers {
	suffix := digestOf(pki.NewToken().Reveal())
	return &browsers{cookie: "__Host-bobbin-" + hex.EncodeToString(suffix[:4])}
}

// offer makes a link for a user, and returns its key.
func (b *browsers) offer(by caller, now time.Time) (key string, end time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(now)
	key = pki.NewToken().Reveal()
	b.links = append(b.links, link{key: digestOf(key), by: by, end: now.Add(linkTime)})
	b.links = within(b.links, maxLinks, maxLinksOfOne, func(l link) caller { return l.by })
	return key, now.Add(linkTime)
}

// look returns who asked for a link, and uses nothing up. The error is errLink.
func (b *browsers) look(key digest, now time.Time) (caller, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(now)
	i := b.linkAt(key)
	if i < 0 {
		return caller{}, errLink
	}
	return b.links[i].by, nil
}

// linkAt is the index of a link; below 0: there is none.
func (b *browsers) linkAt(key digest) int {
	return slices.IndexFunc(b.links, func(l link) bool { return l.key.equals(key) })
}

// admit makes a cookie for the browser that comes by a link, and the value of HeaderCSRF that belongs to it. from is the
// browser's HeaderBrowser; a browser without one comes by a link once. The error is errLink or errTaken.
func (b *browsers) admit(key digest, from string, now time.Time) (cookie, csrf string, end time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(now)
	i := b.linkAt(key)
	if i < 0 {
		return "", "", time.Time{}, errLink
	}
	by := &b.links[i]
	if by.taken && (from == "" || !by.browser.equals(digestOf(from))) {
		return "", "", time.Time{}, errTaken
	}
	by.taken, by.browser = true, digestOf(from)
	b.open = slices.DeleteFunc(b.open, func(one browser) bool { return one.link.equals(key) })
	cookie, csrf, end = pki.NewToken().Reveal(), pki.NewToken().Reveal(), now.Add(browserTime)
	b.open = append(b.open, browser{digestOf(cookie), digestOf(csrf), key, by.by, end})
	b.open = within(b.open, maxBrowsers, maxBrowsersOfOne, func(one browser) caller { return one.by })
	return cookie, csrf, end, nil
}

// find returns who sends a request by its cookie, and false if the request has no valid one. A request with two
// cookies of the name has none: another port of the host may have set one of them.
func (b *browsers) find(r *http.Request, csrf string, now time.Time) (caller, bool) {
	sent := r.CookiesNamed(b.cookie)
	if len(sent) != 1 {
		return caller{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expire(now)
	cookie := digestOf(sent[0].Value)
	i := slices.IndexFunc(b.open, func(one browser) bool { return one.cookie.equals(cookie) })
	if i < 0 {
		return caller{}, false
	}
	one := b.open[i]
	whole := one.csrf.equals(digestOf(csrf)) // the browser has the whole answer of its link
	if whole {
		if used := b.linkAt(one.link); used >= 0 {
			b.links = slices.Delete(b.links, used, used+1)
		}
		one.link = digest{}
	}
	b.open = append(slices.Delete(b.open, i, i+1), one)
	c := one.by
	c.browser, c.until, c.csrf = true, one.end, whole
	return c, true
}

// leave ends the cookie of a request.
func (b *browsers) leave(r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, sent := range r.CookiesNamed(b.cookie) {
		cookie := digestOf(sent.Value)
		b.open = slices.DeleteFunc(b.open, func(one browser) bool { return one.cookie.equals(cookie) })
	}
}

// expire removes what has ended.
func (b *browsers) expire(now time.Time) {
	b.links = slices.DeleteFunc(b.links, func(l link) bool { return !now.Before(l.end) })
	b.open = slices.DeleteFunc(b.open, func(one browser) bool { return !now.Before(one.end) })
}

// within removes elements from the front of a list, to whose end one was added, until its user has at most ofOne of
// them, and all users together have at most most.
func within[T any](list []T, most, ofOne int, by func(T) caller) []T {
	last := by(list[len(list)-1])
	of := func(e T) bool { return by(e) == last }
	count := 0
	for _, e := range list {
		if of(e) {
			count++
		}
	}
	switch {
	case count > ofOne:
		i := slices.IndexFunc(list, of)
		return slices.Delete(list, i, i+1)
	case len(list) > most:
		return slices.Delete(list, 0, 1)
	}
	return list
}
