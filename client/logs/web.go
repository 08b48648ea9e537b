package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

var (
	// ErrNoLogin says that a web server wants Kerberos, and that the client has none.
	ErrNoLogin = fmt.Errorf("it wants Kerberos (hadoop.http.authentication.type), and there is no login: run kinit, or name a keytab (%s)", config.KerberosKeytab)
	// ErrRefused says that a web server lets nobody in by the ticket that it was shown.
	ErrRefused = errors.New("either its owner may not see this (yarn.view.acls), or the server does not have the key that the KDC has for it (hadoop.http.authentication.kerberos.keytab), or the clocks differ")
)

// Web asks YARN's web servers. It may be used from any goroutine.
type Web struct {
	Client *http.Client
	User   string        // told to servers that believe it
	Login  yarnrpc.Login // for servers that want a ticket; nil: there is none
}

// get reads the answer to a GET with this query, which may be nil. A server that wants a ticket is asked once more, with
// one (RFC 4559).
func (w Web) get(ctx context.Context, address string, query url.Values, accept string, read func(io.Reader) error) (err error) {
	asked := url.Values{"user.name": {w.User}}
	maps.Copy(asked, query)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+asked.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", accept)
	response, err := w.Client.Do(request)
	var ticket *sasl.Ticket
	if err == nil && wantsTicket(response) {
		_ = response.Body.Close()                            // what counts are its headers
		request.URL, request.Host = response.Request.URL, "" // where it was sent to
		if ticket, err = w.show(request); err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		response, err = w.Client.Do(request)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	switch code := response.StatusCode; {
	case code == http.StatusOK:
		return read(response.Body)
	case code == http.StatusServiceUnavailable:
		return fmt.Errorf("%s: %w", address, errStarting)
	case ticket != nil && (code == http.StatusUnauthorized || code == http.StatusForbidden):
		return fmt.Errorf("%s answers %s to the %v: %w", address, response.Status, ticket, ErrRefused)
	default:
		return fmt.Errorf("%s answers %s", address, response.Status)
	}
}

func wantsTicket(response *http.Response) bool {
	return response.StatusCode == http.StatusUnauthorized &&
		slices.ContainsFunc(response.Header.Values("WWW-Authenticate"), func(scheme string) bool { return strings.EqualFold(scheme, "Negotiate") })
}

// show puts a ticket into a request.
func (w Web) show(request *http.Request) (*sasl.Ticket, error) {
	if w.Login == nil {
		return nil, ErrNoLogin
	}
	ticket, err := w.Login.Ticket(request.Context(), "HTTP/"+strings.ToLower(request.URL.Hostname()))
	if err != nil {
		return nil, err
	}
	shown, err := ticket.Negotiate()
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", shown)
	return ticket, nil
}
