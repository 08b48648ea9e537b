package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// gateway is a reverse proxy in front of a ResourceManager, as Apache Knox is. It serves YARN below a prefix, and has those of
// Knox's routes that a page needs (gateway-service-definitions, services/yarnui/2.7.0): an application's pages, the
// ResourceManager's REST, and where the proxy leads to when an application has ended. It answers all else with 404.
type gateway struct {
	URL string // of YARN; ends with a slash

	mu    sync.Mutex // guards what follows
	holds map[string]chan struct{}
	fails map[string]string // the answers to them
}

// prefix is that of a topology and of YARN's service there.
const prefix = "/gateway/site/yarn/"

// newGateway starts a gateway, which ends with the test.
func newGateway(t *testing.T, u *bobbintest.User) *gateway {
	t.Helper()
	g := &gateway{holds: make(map[string]chan struct{}), fails: make(map[string]string)}
	yarn := &url.URL{Scheme: "http", Host: u.Cluster.RMWebAddress()}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = yarn.Scheme, yarn.Host, ""
			r.Out.URL.Path, r.Out.URL.RawPath = strings.TrimPrefix(r.In.URL.Path, strings.TrimSuffix(prefix, "/")), ""
			r.SetXForwarded()
		},
		ModifyResponse: func(answer *http.Response) error {
			at, err := answer.Location()
			if err == nil && strings.HasPrefix(at.Path, "/cluster") {
				answer.Header.Set("Location", g.URL+strings.TrimPrefix(at.RequestURI(), "/"))
			}
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		below, is := strings.CutPrefix(r.URL.Path, prefix)
		if first, _, _ := strings.Cut(below, "/"); !is || first != "proxy" && first != "ws" && first != "cluster" && first != "static" {
			http.NotFound(w, r)
			return
		}
		if answer := g.refusal(r); answer != "" {
			http.Error(w, answer, http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { g.release("") }) // before that
	g.URL = server.URL + prefix
	return g
}

// refusal waits while requests for this path are held, and returns what the gateway answers to them itself; "": it passes them on.
func (g *gateway) refusal(r *http.Request) string {
	name := path.Base(r.URL.Path)
	g.mu.Lock()
	held := g.holds[name]
	g.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-r.Context().Done():
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fails[name]
}

// hold holds requests whose path ends with this name until they are released. The page gives up after 15 s, and asks again.
func (g *gateway) hold(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds[name] = make(chan struct{})
}

// fail answers such requests with a page of its own, which is no answer of the master.
func (g *gateway) fail(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fails[name] = "the gateway has no answer"
}

// refuse answers such requests as the master does when it has a reason to refuse them.
func (g *gateway) refuse(name, reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fails[name] = fmt.Sprintf(`{"errors":[%q]}`, reason)
}

// mend passes such requests on again.
func (g *gateway) mend(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.fails, name)
}

// release lets held requests go on; "": all.
func (g *gateway) release(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for held, done := range g.holds {
		if name == "" || held == name {
			close(done)
			delete(g.holds, held)
		}
	}
}
