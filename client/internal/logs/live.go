package logs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// errListing says that an answer is not a list of a container's logs.
var errListing = errors.New("malformed list of logs")

// maxListing bounds the answer that lists a container's logs, in bytes.
const maxListing = 1 << 20

// Live visits the present logs of a container through the web server of its node (NMWebServices:
// /ws/v1/node/containers/<id>/logs), or through the log server if the node no longer has them. A container that
// its node is about to start has no logs.
func Live(ctx context.Context, web Web, report records.ContainerReport, visit Visit) error {
	at, err := shelfOf(web, report)
	if err != nil {
		return err
	}
	return at.visit(ctx, report.Node.String(), visit)
}

// Served visits the logs of a container that the log server has. It is an error if there are none.
func Served(ctx context.Context, web Web, id records.ContainerID, visit Visit) error {
	at := &shelf{web: web, container: id}
	at.sendOn()
	return at.visit(ctx, "log server", visit)
}

// shelf is the URL of a container's logs. One goroutine uses it.
type shelf struct {
	web       Web // without LogServer once the shelf is on the log server
	container records.ContainerID
	base      string
	query     url.Values // with each request
}

// shelfOf is the shelf on the container's node.
func shelfOf(web Web, report records.ContainerReport) (*shelf, error) {
	if report.NodeHTTPAddress == "" {
		return nil, fmt.Errorf("read logs of %s: YARN does not say where its node's web server is", report.ID)
	}
	node, err := web.nodeAddress(report.NodeHTTPAddress)
	if err != nil {
		return nil, fmt.Errorf("read logs of %s: %w", report.ID, err)
	}
	return &shelf{web: web, container: report.ID, base: node + "/ws/v1/node/containers/" + report.ID.String() + "/logs"}, nil
}

// sendOn moves the shelf to the configured log server: an attacker could forge the address in a node's answer.
// The query keeps the log server from redirecting to the node.
func (s *shelf) sendOn() {
	s.base = strings.TrimRight(s.web.LogServer, "/") + "/containers/" + s.container.String() + "/logs"
	s.query = url.Values{"redirected_from_node": {"true"}}
	s.web.LogServer = "" // the log server has no other log server
}

// get reads the list of logs, or a log by its name.
func (s *shelf) get(ctx context.Context, name string, query url.Values, accept string, read func(io.Reader) error) error {
	err := s.ask(ctx, name, query, accept, read)
	if errors.Is(err, errSentOn) && s.web.LogServer != "" {
		s.sendOn()
		err = s.ask(ctx, name, query, accept, read)
	}
	return err
}

func (s *shelf) ask(ctx context.Context, name string, query url.Values, accept string, read func(io.Reader) error) error {
	address := s.base
	if name != "" {
		address += "/" + url.PathEscape(name)
	}
	all := make(url.Values)
	maps.Copy(all, s.query)
	maps.Copy(all, query)
	return s.web.get(ctx, address, all, accept, read)
}

// visit visits all logs.
func (s *shelf) visit(ctx context.Context, node string, visit Visit) error {
	files, err := s.files(ctx)
	if err != nil {
		return err
	}
	for _, file := range files {
		err := s.get(ctx, file.name, nil, "text/plain", func(body io.Reader) error {
			content, size := unwrap(body, math.MaxInt64)
			return visit(Log{Container: s.container.String(), Node: node, Name: file.name, Size: size}, content)
		})
		if err != nil {
			return fmt.Errorf("read log %s of %s: %w", file.name, s.container, err)
		}
	}
	return nil
}

// files lists the logs.
func (s *shelf) files(ctx context.Context) ([]fileSize, error) {
	var text []byte
	err := s.get(ctx, "", nil, "application/json", func(body io.Reader) (err error) {
		text, err = io.ReadAll(io.LimitReader(body, maxListing))
		return err
	})
	if errors.Is(err, errStarting) {
		return nil, nil
	}
	var files []fileSize
	if err == nil {
		files, err = parseListing(text)
	}
	if err != nil {
		return nil, fmt.Errorf("read logs of %s: %w", s.container, err)
	}
	return files, nil
}

// fileSize is a log in a listing.
type fileSize struct {
	name string
	size int64 // bytes; -1 if the listing does not tell
}

// errStarting is a node's answer about a container that does not run yet (ContainerLogsUtils#checkState).
var errStarting = errors.New("the container is being started")

// maxHead bounds what NodeManagers write before a log, in bytes.
const maxHead = 4 << 10

// unwrap removes what NodeManagers write around a log (LogToolUtils#outputContainerLog), and returns the size of
// the log:
//
//	Container: container_1_0001_01_000001 on 127.0.0.2:45454
//	…
//	LogLength:1451
//	LogContents:
//	<1451 bytes>End of LogType:…
//
// If the client asked for the last bytes of a larger file, as many as most says, the content is these bytes.
// unwrap returns an answer of another form unchanged, with a size of -1.
func unwrap(body io.Reader, most int64) (content io.Reader, size int64) {
	r := bufio.NewReaderSize(body, maxHead)
	head, _ := r.Peek(maxHead) // fewer where the answer is short; a fault shows when it is read
	const contents = "\nLogContents:\n"
	end := bytes.Index(head, []byte(contents))
	if end < 0 || !bytes.HasPrefix(head, []byte("Container: ")) {
		return r, -1
	}
	_, length, _ := bytes.Cut(head[:end], []byte("\nLogLength:"))
	size, err := strconv.ParseInt(string(length), 10, 64)
	if err != nil || size < 0 {
		return r, -1
	}
	_, _ = r.Discard(end + len(contents)) // buffered already
	return io.LimitReader(r, min(size, most)), size
}

func parseListing(text []byte) ([]fileSize, error) {
	type info struct {
		Files []struct {
			Name string `json:"fileName"`
			Size string `json:"fileSize"`
		} `json:"containerLogInfo"`
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
			return nil, fmt.Errorf("%w: %w", errListing, err)
		}
		several.Logs = []info{one.Logs}
	}
	var found []fileSize
	for _, logs := range several.Logs {
		for _, file := range logs.Files {
			if file.Name == "" || file.Name == "." || file.Name == ".." { // they are other paths
				return nil, fmt.Errorf("%w: it has one named %q", errListing, file.Name)
			}
			size, err := strconv.ParseInt(file.Size, 10, 64)
			if err != nil || size < 0 {
				size = -1
			}
			found = append(found, fileSize{file.Name, size})
		}
	}
	return yarnsLast(found), nil
}
