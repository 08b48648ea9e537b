// Package web holds the page that people look at in a browser: its built files, and how they are answered. The
// ApplicationMaster and the history server serve the same page.
//
// The sources are below src; scripts/web builds dist from them, which is committed, so that a build of Bobbin needs no
// Node. The files are constant. Any goroutine may use the package.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// index is the name of the page itself.
const index = "index.html"

// Policy is the content security policy of the page: it loads its own script and style, asks its own server, and
// nothing else. No other page may show it in a frame.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

//go:embed dist
var dist embed.FS

// file is one built file.
type file struct {
	kind   string // content type
	tag    string // of its content, as a strong ETag
	plain  []byte
	packed []byte // compressed by gzip
}

// files returns the built files by their paths below dist. It compresses them once, when the first browser comes.
//
//nolint:gochecknoglobals // constant once it is made
var files = sync.OnceValue(func() map[string]file {
	all := make(map[string]file)
	err := fs.WalkDir(dist, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		all[strings.TrimPrefix(name, "dist/")] = newFile(name, content)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("read the embedded page: %v", err)) // it is part of the program
	}
	return all
})

func newFile(name string, content []byte) file {
	kinds := map[string]string{".html": "text/html; charset=UTF-8", ".js": "text/javascript; charset=UTF-8", ".css": "text/css; charset=UTF-8"}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("compress %s of the embedded page: %v", name, err)) // a buffer takes everything
	}
	sum := sha256.Sum256(content)
	return file{kind: kinds[path.Ext(name)], tag: `"` + hex.EncodeToString(sum[:12]) + `"`, plain: content, packed: packed.Bytes()}
}

// Answer is the answer to a request for a file of the page.
type Answer struct {
	Status int // 200 or 304
	Header http.Header
	Body   []byte // shared: read only
}

// Find answers a request for the page, at the path "/{$}", or for one of its files, at "/page/{file}", which are patterns of
// http.ServeMux. It reports whether there is such a file. Browsers keep the files, and ask each time whether they are the
// newest.
func Find(r *http.Request) (Answer, bool) {
	name := index
	if file := r.PathValue("file"); file != "" {
		name = "page/" + file
	}
	f, found := files()[name]
	if !found {
		return Answer{}, false
	}
	h := http.Header{
		"Etag":          {f.tag},
		"Cache-Control": {"no-cache"},
		"Vary":          {"Accept-Encoding"},
	}
	if matches(r.Header.Values("If-None-Match"), f.tag) {
		return Answer{Status: http.StatusNotModified, Header: h}, true
	}
	h.Set("Content-Type", f.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	if name == index {
		h.Set("Content-Security-Policy", Policy)
		h.Set("Referrer-Policy", "no-referrer")
	}
	if takesGzip(r.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		return Answer{http.StatusOK, h, f.packed}, true
	}
	return Answer{http.StatusOK, h, f.plain}, true
}

// matches reports whether one of the tags of If-None-Match is the given one. A proxy may have made it a weak one.
func matches(headers []string, tag string) bool {
	for one := range elements(headers) {
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

// takesGzip reports whether Accept-Encoding names gzip, and not with the quality 0.
func takesGzip(headers []string) bool {
	for one := range elements(headers) {
		coding, quality, _ := strings.Cut(one, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		value, given := strings.CutPrefix(strings.TrimSpace(quality), "q=")
		q, err := strconv.ParseFloat(value, 64)
		return !given || err == nil && q > 0
	}
	return false
}

// elements yields the elements of headers that are lists.
func elements(headers []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, h := range headers {
			for one := range strings.SplitSeq(h, ",") {
				if !yield(strings.TrimSpace(one)) {
					return
				}
			}
		}
	}
}
