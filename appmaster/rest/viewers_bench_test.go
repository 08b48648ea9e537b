package rest

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkViewers is the cost of a request of a viewer whose answer another one got a moment ago: that of TLS, of net/http and of
// the doors. It is that of the client, too, which is in the same process: a profile tells them apart.
func BenchmarkViewers(b *testing.B) {
	certified := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer certified.Close()
	s := newServer(&fakeGateway{})
	s.config.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: certified.TLS.Certificates}
	l, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	client := certified.Client()
	get := func(path string) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+l.Addr().String()+path+"?maxAge=1000", http.NoBody)
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := client.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
			b.Fatalf("status %d, %v", answer.StatusCode, err)
		}
		answer.Body.Close()
	}
	for b.Loop() {
		get("/jobs/" + string(runningID))
	}
	client.CloseIdleConnections()
	stop()
	if err := <-served; err != nil {
		b.Error(err)
	}
}
