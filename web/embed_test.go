package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/web"
)

// index is the page itself, for ask.
const index = ""

// ask asks for the page, or for one of its files as it names them.
func ask(t *testing.T, name string, header http.Header) web.Answer {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/"+name, http.NoBody)
	r.Header = header
	if name != index {
		file, is := strings.CutPrefix(name, "page/")
		if !is {
			t.Fatalf("%s is no file of the page", name)
		}
		r.SetPathValue("file", file)
	}
	answer, found := web.Find(r)
	if !found {
		t.Fatalf("there is no file %s", name)
	}
	return answer
}

// A server would answer with the page itself for each file that is not there, or with a file of the program.
func TestOtherFilesAreNotFound(t *testing.T) {
	for _, file := range []string{"nobody.js", "index.html", "../index.html", "/page.js"} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.SetPathValue("file", file)
		if answer, found := web.Find(r); found {
			t.Errorf("%s: %+v", file, answer.Header)
		}
	}
}

// A link of the page that leads nowhere, or to another host, leaves an empty page.
func TestThePageNamesOnlyItsOwnFiles(t *testing.T) {
	page := ask(t, index, nil)
	links := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllSubmatch(page.Body, -1)
	files := 0
	for _, link := range links {
		name, own := bytes.CutPrefix(link[1], []byte("./"))
		if own {
			ask(t, string(name), nil)
			files++
		} else if bytes.Contains(link[1], []byte("//")) && !bytes.HasPrefix(link[1], []byte("data:")) || bytes.HasPrefix(link[1], []byte("/")) {
			t.Errorf("the page has the link %s: it does not work below a prefix", link[1])
		}
	}
	if files != 2 {
		t.Errorf("the page links %d files of its own, want its script and its style", files)
	}
}

// A browser that asks again would download everything at each visit.
func TestABrowserThatHasAFileIsToldSo(t *testing.T) {
	const name = "page/page.js"
	tag := ask(t, name, nil).Header.Get("Etag")
	if tag == "" || tag == ask(t, index, nil).Header.Get("Etag") {
		t.Fatalf("the tag %q does not tell the file from another one", tag)
	}
	for header, want := range map[string]int{
		tag:                http.StatusNotModified,
		"W/" + tag:         http.StatusNotModified, // a proxy compressed it
		`"other", ` + tag:  http.StatusNotModified,
		"*":                http.StatusNotModified,
		`"of-an-old-page"`: http.StatusOK,
	} {
		answer := ask(t, name, http.Header{"If-None-Match": {header}})
		if answer.Status != want || (answer.Status == http.StatusNotModified) != (len(answer.Body) == 0) {
			t.Errorf("If-None-Match: %s is answered with %d and %d bytes, want %d", header, answer.Status, len(answer.Body), want)
		}
	}
}

// A client that does not know gzip would get bytes that it cannot read.
func TestFilesAreCompressedForThoseWhoTakeIt(t *testing.T) {
	const name = "page/page.css"
	plain := ask(t, name, nil)
	for header, packed := range map[string]bool{
		"gzip": true, "deflate, GZIP;q=0.5": true, "gzip;q=1": true,
		"": false, "br": false, "gzip;q=0": false, "gzip; q=0.00": false, "identity": false,
	} {
		answer := ask(t, name, http.Header{"Accept-Encoding": {header}})
		body := answer.Body
		if got := answer.Header.Get("Content-Encoding") == "gzip"; got != packed {
			t.Errorf("Accept-Encoding: %q is answered with gzip %v, want %v", header, got, packed)
			continue
		}
		if packed {
			unpacked, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(unpacked); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(body, plain.Body) {
			t.Errorf("Accept-Encoding: %q is answered with another file", header)
		}
	}
}
