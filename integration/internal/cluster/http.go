package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	tryLimit    = 5 * time.Minute // bounds a request to a server that was lost without notice; package wait tries again
	answerLimit = 64 << 20        // bytes; the largest answers are lists of applications
)

// ErrHTTPStatus is an answer with a status other than 2xx.
type ErrHTTPStatus struct {
	URL    string
	Status int
	Body   string // its first KB
}

func (e *ErrHTTPStatus) Error() string {
	return fmt.Sprintf("%s answered %d %s: %s", e.URL, e.Status, http.StatusText(e.Status), e.Body)
}

// Unavailable reports whether the server could not answer now but may later: it was starting, or another server is
// active.
func (e *ErrHTTPStatus) Unavailable() bool {
	return e.Status >= http.StatusBadGateway && e.Status <= http.StatusGatewayTimeout
}

// webClient sends requests to the daemons' HTTP servers.
type webClient struct {
	*http.Client
	authenticate func(*http.Request) error // nil: no login is needed
}

func newWebClient() webClient {
	// No proxy: the environment's proxy is for other machines. No keep-alive: on loopback a new connection is cheap,
	// and tests look for remaining goroutines.
	return webClient{Client: &http.Client{Timeout: tryLimit, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}}
}

// getJSON decodes the answer to a GET into v.
func (w webClient) getJSON(ctx context.Context, url string, v any) error {
	body, err := w.do(ctx, http.MethodGet, url)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("answer of %s: %w", url, err)
	}
	return nil
}

func (w webClient) do(ctx context.Context, method, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if w.authenticate != nil {
		if err := w.authenticate(req); err != nil {
			return nil, fmt.Errorf("authenticate to %s: %w", req.URL.Host, err)
		}
	}
	resp, err := w.Do(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, fmt.Errorf("answer of %s: %w", url, err)
	}
	if resp.StatusCode/100 != 2 {
		return nil, &ErrHTTPStatus{URL: url, Status: resp.StatusCode, Body: string(body[:min(len(body), 1024)])}
	}
	return body, nil
}

// jmx is the answer of a daemon's /jmx for one MBean.
type jmx[T any] struct{ Beans []T }

func jmxURL(host, bean string) string {
	return "http://" + host + "/jmx?qry=" + url.QueryEscape(bean)
}

func (j jmx[T]) bean() (T, error) {
	if len(j.Beans) == 0 {
		var none T
		return none, errors.New("the MBean does not exist yet")
	}
	return j.Beans[0], nil
}

func discard() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}
