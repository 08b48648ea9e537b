package cluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// It would catch the time for which a paused ResourceManager is waited for, told as the time that the other one took.
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

// It would catch two ResourceManagers that do not share their state, or an elector
// that never looks again.
func TestTheOtherResourceManagerTakesOver(t *testing.T) {
	c := ForTest(t, Config{HA: true, NodeManagers: 1})
	first, err := c.ActiveRM(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := c.Kill(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	var second string
	if err := poll(t.Context(), "another resourcemanager to be active", func() (err error) {
		second, err = c.ActiveRM(t.Context())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s took over from %s after %v", second, first, time.Since(began).Round(time.Millisecond))
	if err := c.Restart(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if now, err := c.ActiveRM(t.Context()); err != nil || now != second || second == first {
		t.Errorf("after the restart of %s, %s (%v) is active, want %s", first, now, err, second)
	}
}
