// Package resttest serves a test's Gateway through the real REST endpoint, with a certificate and an
// owner's token of its own. It is for tests of REST's clients.
//
// Its one goroutine ends with the test. Only tests import it.
package resttest

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// Serve serves on a port of 127.0.0.1 until the test ends, and returns how the owner gets in. It sets the
// certificate and the token of config. Other fields of config may open REST to other users.
func Serve(t testing.TB, g rest.Gateway, config rest.Config) launch.Access {
	t.Helper()
	authority, err := pki.NewAuthority("application_1_0001", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	front, err := authority.IssueREST([]string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	token := pki.NewToken()
	config.TLS, config.Token = config.Site.Door(front.RESTServerTLS()), token
	server := rest.New(config, g, logger)
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return launch.Access{Address: listener.Addr().String(), Authority: front.Authority(), Token: token.Reveal()}
}
