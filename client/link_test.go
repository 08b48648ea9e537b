package client

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// answering answers each request with this text.
type answering string

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: make(http.Header), Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// TestALinkHasTheFormOfALink is the attack of another user's ApplicationMaster. It would catch an answer that leads the
// browser to another page, adds elements to the page that starts the browser, or controls the terminal; and a user who is not
// told why the browser does not get the site's certificate.
func TestALinkHasTheFormOfALink(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("aZ_-", 11)
	for answer, want := range map[string]string{
		`{"address": "node5:4711", "key": "` + key + `", "until": 1, "fingerprint": ""}`:                                                            "https://node5:4711" + restapi.OpenPath + "#" + key,
		`{"address": "node5:4711/evil?", "key": "` + key + `"}`:                                                                                     "",
		`{"address": "me@evil.test:1", "key": "` + key + `"}`:                                                                                       "",
		`{"address": "", "key": "` + key + `"}`:                                                                                                     "",
		`{"address": "node5:4711", "key": ""}`:                                                                                                      "",
		`{"address": "node5:4711", "key": "` + key + `\"><script>"}`:                                                                                "",
		`{"address": "node5:4711", "key": "` + key + `\u001b[2J"}`:                                                                                  "",
		`{"address": "node5:4711", "key": "` + key + `\n"}`:                                                                                         "",
		`{"address": "node5:4711", "key": "` + key + `", "fingerprint": "` + strings.Repeat("\\u202e", 64) + `"}`:                                   "",
		`{"address": "node5:4711", "key": "` + key + `", "site": {"names": ["x\u001b[2J"], "until": 1}}`:                                            "",
		`{"address": "node5:4711", "key": "` + key + `", "site": {"names": [` + strings.Repeat(`"a",`, restapi.MaxLinkNames) + `"a"], "until": 1}}`: "",
		`<html>`: "",
	} {
		c := &ClusterClient{base: "https://node5:4711", http: &http.Client{Transport: answering(answer)}}
		link, err := c.Link(t.Context())
		if link.URL != want || (err == nil) != (want != "") {
			t.Errorf("%s makes %q, %v", answer, link.URL, err)
		}
	}
	for until, want := range map[string]string{
		"1":                                    "the site's certificate ended on ",
		`4102444800000, "from": 4102444700000`: "the site's certificate begins on ",
		"4102444800000":                        "the site's certificate is not for node5, but for *.cluster.example, 10.0.0.5",
	} {
		c := &ClusterClient{base: "https://node5:4711", http: &http.Client{Transport: answering(
			`{"address": "node5:4711", "key": "` + key + `", "site": {"names": ["*.cluster.example", "10.0.0.5"], "until": ` + until + `}}`)}}
		if link, err := c.Link(t.Context()); err != nil || !strings.HasPrefix(link.Site, want) {
			t.Errorf("a certificate until %s: %q, %v", until, link.Site, err)
		}
	}
	c := &ClusterClient{base: "https://node5:4711", http: &http.Client{Transport: answering(`{"address": "node5:4711", "key": "short"}`)}}
	if _, err := c.Link(t.Context()); !errors.Is(err, errAnswer) {
		t.Errorf("got %v", err)
	}
}
