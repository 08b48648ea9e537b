package cluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The test would catch a wait for a paused ResourceManager that counts as part of the other one's takeover time.
func TestOneThatHangsDoesNotHideTheActiveResourceManager(t *testing.T) {
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hung.Close()
	active := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"clusterInfo":{"state":"STARTED","haState":"ACTIVE"}}`) // read below
	}))
	defer active.Close()
	c := &Cluster{spec: new(spec), http: newWebClient()}
	c.http.Timeout = 0
	for _, server := range []*httptest.Server{hung, active} {
		web := strings.TrimPrefix(server.URL, "http://")
		c.spec.Daemons = append(c.spec.Daemons, daemon{Name: web, Kind: resourceManager, Web: web})
	}
	name, err := c.ActiveRM(t.Context())
	if want := c.spec.Daemons[1].Name; err != nil || name != want {
		t.Errorf("got %s, %v, want %s", name, err, want)
	}
}
