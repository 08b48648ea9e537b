package logs

import (
	"cmp"
	"context"
	"encoding/base64"
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
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

var (
	// errNoLogin says that a web server requires Kerberos, and that the client has no login.
	errNoLogin = fmt.Errorf("the server requires Kerberos (hadoop.http.authentication.type), and there is no login: run kinit, or name a keytab (%s)", config.KerberosKeytab)
	// errSentOn says that a web server redirects the client. An attacker who changes plain HTTP can forge a
	// redirection, and so make the client show tickets to any server.
	errSentOn = errors.New("redirections are not followed, because an attacker can forge one: if this is the log server, name it in the Hadoop configuration (yarn.log.server.web-service.url)")
	// ErrPlain says that the client would use plain HTTP in a cluster whose policy is TLS. A listener would
	// read the logs, and an attacker who changes the traffic would get the ticket.
	ErrPlain = errors.New("this is plain HTTP, but yarn.http.policy is HTTPS_ONLY: if this is the log server, name it with https in the Hadoop configuration (yarn.log.server.web-service.url)")
	// errRefused says that a web server refuses the ticket that it was shown.
	errRefused = errors.New("either the ticket's owner may not see the logs (yarn.view.acls), or the server's keytab does not match the KDC (hadoop.http.authentication.kerberos.keytab), or the clocks differ")
)

// Web asks YARN's web servers: those of nodes, whose addresses YARN reports, and the configured log server.
// Tickets go only to these, since Web follows no redirection. WebOf makes one. Goroutines may share it.
type Web struct {
	Client *http.Client
	User   string        // for servers that accept a user name without proof
	Login  yarnrpc.Login // for servers that require a ticket; nil without a login
	// Scheme is the scheme of nodes for which YARN reports none, "http" or "https"; "" means http. With https,
	// Web asks no server by another scheme.
	Scheme string
	// LogServer is the base URL of the REST API of the log server, which has the logs that nodes no longer have
	// (yarn.log.server.web-service.url); "" if there is none.
	LogServer string
}

// WebOf is a Web, without its Client, from a cluster's configuration.
func WebOf(conf *hadoopconf.Conf, user string, login yarnrpc.Login) Web {
	w := Web{User: user, Login: login, LogServer: conf.Get("yarn.log.server.web-service.url")}
	if strings.EqualFold(conf.Get("yarn.http.policy"), "HTTPS_ONLY") { // HttpConfig.Policy#fromString
		w.Scheme = "https"
	}
	return w
}

// nodeAddress is the URL of a node's web server, from YARN's report.
func (w Web) nodeAddress(told string) (string, error) {
	address := told
	if !strings.Contains(address, "://") {
		address = cmp.Or(w.Scheme, "http") + "://" + address
	}
	at, err := url.Parse(address)
	if err == nil && (at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || *at != url.URL{Scheme: at.Scheme, Host: at.Host}) {
		err = errors.New("it is no host:port")
	}
	if err != nil {
		return "", fmt.Errorf("find the web server of a node at %q: %w", told, err)
	}
	return at.String(), nil
}

// get reads the answer to a GET with this query, which may be nil. If the server requires a ticket, get asks
// once more, with a ticket (RFC 4559). The error is errSentOn for a redirection, and ErrPlain for a plain
// connection against the cluster's policy.
func (w Web) get(ctx context.Context, address string, query url.Values, accept string, read func(io.Reader) error) (err error) {
	asked := url.Values{"user.name": {w.User}}
	maps.Copy(asked, query)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+asked.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	if w.Scheme == "https" && request.URL.Scheme != w.Scheme {
		return fmt.Errorf("%s: %w", address, ErrPlain)
	}
	request.Header.Set("Accept", accept)
	response, err := w.do(request)
	var ticket *sasl.Ticket
	if err == nil && wantsTicket(response) {
		_ = response.Body.Close() // only its headers matter
		if ticket, err = w.show(request); err != nil {
			return fmt.Errorf("%s: %w", address, err)
		}
		response, err = w.do(request)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	switch code := response.StatusCode; {
	case code == http.StatusOK:
		return read(response.Body)
	case code/100 == 3:
		return fmt.Errorf("%s redirects to %.200q: %w", address, response.Header.Get("Location"), errSentOn)
	case code == http.StatusServiceUnavailable:
		return fmt.Errorf("%s: %w", address, errStarting)
	case ticket != nil && (code == http.StatusUnauthorized || code == http.StatusForbidden):
		return fmt.Errorf("%s answers %s to the %v: %w", address, response.Status, ticket, errRefused)
	default:
		return fmt.Errorf("%s answers %s", address, response.Status)
	}
}

// do sends a request to its URL, and follows no redirection.
func (w Web) do(request *http.Request) (*http.Response, error) {
	client := *w.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client.Do(request)
}

func wantsTicket(response *http.Response) bool {
	return response.StatusCode == http.StatusUnauthorized &&
		slices.ContainsFunc(response.Header.Values("WWW-Authenticate"), func(scheme string) bool { return strings.EqualFold(scheme, "Negotiate") })
}

// show adds a ticket to a request, like Hadoop's own client (KerberosAuthenticator): a token of Kerberos
// without SPNEGO's wrapping (RFC 4559 §4.2). Each request needs its own.
func (w Web) show(request *http.Request) (*sasl.Ticket, error) {
	if w.Login == nil {
		return nil, errNoLogin
	}
	ticket, err := w.Login.Ticket(request.Context(), "HTTP/"+strings.ToLower(request.URL.Hostname()))
	if err != nil {
		return nil, err
	}
	token, err := (&sasl.GSSAPI{Ticket: ticket}).Start(nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Negotiate "+base64.StdEncoding.EncodeToString(token))
	return ticket, nil
}
