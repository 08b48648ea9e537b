package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// maxListing bounds the answer that lists a container's logs, in bytes.
const maxListing = 1 << 20

// Live visits the logs of a container as they are now, by the web server of its
// node (NMWebServices: /ws/v1/node/containers/<id>/logs).
func Live(ctx context.Context, web *http.Client, report records.ContainerReport, user string, visit Visit) error {
	base := report.NodeHTTPAddress
	if base == "" {
		return fmt.Errorf("read logs of %s: YARN does not say where its node's web server is", report.ID)
	}
	if u, err := url.Parse(base); err != nil || u.Host == "" {
		base = "http://" + base
	}
	base += "/ws/v1/node/containers/" + report.ID.String() + "/logs"
	names, err := listing(ctx, web, base, user)
	if err != nil {
		return fmt.Errorf("read logs of %s: %w", report.ID, err)
	}
	for _, name := range names {
		err := get(ctx, web, base+"/"+url.PathEscape(name), user, "text/plain", func(body io.Reader) error {
			return visit(Log{Container: report.ID.String(), Node: report.Node.String(), Name: name, Size: -1}, body)
		})
		if err != nil {
			return fmt.Errorf("read log %s of %s: %w", name, report.ID, err)
		}
	}
	return nil
}

func listing(ctx context.Context, web *http.Client, address, user string) ([]string, error) {
	type info struct {
		Files []struct {
			Name string `json:"fileName"`
		} `json:"containerLogInfo"`
	}
	var text []byte
	err := get(ctx, web, address, user, "application/json", func(body io.Reader) (err error) {
		text, err = io.ReadAll(io.LimitReader(body, maxListing))
		return err
	})
	if err != nil {
		return nil, err
	}
	// One kind of log is an object, several are a list.
	var several struct {
		Logs []info `json:"containerLogsInfo"`
	}
	if err := json.Unmarshal(text, &several); err != nil {
		var one struct {
			Logs info `json:"containerLogsInfo"`
		}
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, err
		}
		several.Logs = []info{one.Logs}
	}
	var names []string
	for _, logs := range several.Logs {
		for _, file := range logs.Files {
			names = append(names, file.Name)
		}
	}
	return names, nil
}

func get(ctx context.Context, web *http.Client, address, user, accept string, read func(io.Reader) error) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?user.name="+url.QueryEscape(user), http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", accept)
	response, err := web.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, response.Status)
	}
	return read(response.Body)
}
