package clienttoam

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// ErrUnproven says that the server did not prove to be the ApplicationMaster.
var ErrUnproven = errors.New("the ApplicationMaster did not prove its identity")

const (
	// probe is a path whose answer is the same for all users.
	probe = "/config"
	// maxAnswer bounds the answer to probe in bytes: only headers.
	maxAnswer = 16 << 10
	// dialTime bounds Dial. http.Transport dials without its request's deadline.
	dialTime = 30 * time.Second
)

// Dial connects to the ApplicationMaster at host:port. When it returns, both ends have proven their
// identities, and requests need no further proof. The error is ErrNoKey if the ApplicationMaster is
// not ready, ErrKeyLost if it never will be, ErrUnproven if it refused the client's proof or did not
// prove its own identity, and ErrRefused if it accepted the proof but has no name for the user.
func Dial(ctx context.Context, address string, token *creds.Token) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(plain, &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // the proof replaces the certificate
	})
	if err := introduce(ctx, conn, address, token); err != nil {
		_ = plain.Close() // err says what is wrong
		return nil, fmt.Errorf("authenticate to %s with YARN's token: %w", address, err)
	}
	return conn, nil
}

// introduce exchanges the proofs on a new connection.
func introduce(ctx context.Context, conn *tls.Conn, address string, token *creds.Token) error {
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	past := time.Unix(1, 0)
	stop := context.AfterFunc(ctx, func() { _ = conn.NetConn().SetDeadline(past) }) // does not fail on an open connection
	status, header, err := exchange(ctx, conn, address, token)
	if !stop() {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	state := conn.ConnectionState()
	want, err := prove(token.Password, server, &state)
	if err != nil {
		return err
	}
	got, err := decode(header.Get(AnswerHeader), proofParam)
	switch {
	case err == nil && hmac.Equal(got, want) && status == http.StatusOK:
		return nil
	case err == nil && hmac.Equal(got, want):
		return fmt.Errorf("%w: the ApplicationMaster accepts its proof, but answers with status %d; check that a rule of hadoop.security.auth_to_local gives you a user name", ErrRefused, status)
	case status == http.StatusServiceUnavailable && header.Get("Retry-After") == "": // only before it leads does it say so
		return ErrKeyLost
	case status == http.StatusServiceUnavailable:
		return ErrNoKey
	case status == http.StatusUnauthorized:
		return fmt.Errorf("%w: it refuses YARN's token; the token may be for an earlier attempt", ErrUnproven)
	}
	return fmt.Errorf("%w: its answer with status %d has no valid proof; an attacker may sit between you and it", ErrUnproven, status)
}

// exchange sends the client's proof and returns the answer. The caller must check the proof in the answer's
// AnswerHeader.
func exchange(ctx context.Context, conn *tls.Conn, address string, token *creds.Token) (status int, header http.Header, err error) {
	state := conn.ConnectionState()
	own, err := prove(token.Password, client, &state)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+address+probe, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", credentials{token.Identifier, own}.header())
	if err := request.Write(conn); err != nil {
		return 0, nil, err
	}
	reader := bufio.NewReader(io.LimitReader(conn, maxAnswer))
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	if err := response.Body.Close(); err != nil { // empty, as HEAD's always is
		return 0, nil, err
	}
	if reader.Buffered() > 0 {
		return 0, nil, fmt.Errorf("%w: it sends data after its answer to HEAD", ErrUnproven)
	}
	return response.StatusCode, response.Header, nil
}
