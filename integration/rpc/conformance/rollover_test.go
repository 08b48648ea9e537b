package conformance

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// rolling are the shortest times that a ResourceManager takes: a new key every 10 s,
// and the old one refused 4.5 s later.
func rolling() map[string]string {
	return map[string]string{
		"yarn.am.liveness-monitor.expiry-interval-ms":                        "3000",
		"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs": "10",
	}
}

// An ApplicationMaster that keeps its first token loses the ResourceManager after a
// day, with its next connection.
func TestAMasterOutlivesTheTokenItStartedWith(t *testing.T) {
	c := clusters.Use(t, clusters.Features)
	scheduler, token := schedulerAddress(t, c), unmanaged(t, client(t, c))
	id, err := identifier.DecodeAMRM(token)
	if err != nil {
		t.Fatal(err)
	}
	connections := 0
	master := amrm.New(amrm.Options{
		Addresses: []string{scheduler}, Attempt: id.Attempt, Token: token,
		RPC: yarnrpc.Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			connections++
			return new(net.Dialer).DialContext(ctx, network, address)
		}},
	})
	defer func() {
		if err := master.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := master.Register(t.Context(), amrm.RegisterRequest{Host: "localhost", RPCPort: -1}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	beat := time.NewTicker(100 * time.Millisecond)
	defer beat.Stop()
	for refused := false; !refused; {
		if _, err := master.Allocate(ctx, 0.5); err != nil {
			t.Fatalf("after %d connections: %v", connections, err)
		}
		if refused, err = refuses(ctx, scheduler, token); err != nil {
			t.Fatal(err)
		}
		<-beat.C
	}
	if connections < 2 {
		t.Errorf("the first token was refused, and %d connections were made: none with a new one", connections)
	}
	if _, err := master.Allocate(ctx, 0.5); err != nil {
		t.Errorf("allocate with the new token: %v", err)
	}
	if err := master.Finish(ctx, records.FinalSucceeded, "", ""); err != nil {
		t.Error(err)
	}
}

// refuses reports whether the ResourceManager takes no connection with token any more.
func refuses(ctx context.Context, scheduler string, token *creds.Token) (bool, error) {
	c, err := yarnrpc.Dial(ctx, scheduler, yarnrpc.Options{Protocol: yarnrpc.ApplicationMasterProtocol, Token: creds.Fixed(token)})
	switch {
	case err == nil:
		return false, c.Close()
	case errors.Is(err, yarnrpc.ErrInvalidToken):
		return true, nil
	default:
		return false, err
	}
}
