package logs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strconv"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ErrListing says that an answer is no list of a container's logs.
var ErrListing = errors.New("malformed list of logs")

// maxListing bounds the answer that lists a container's logs, in bytes.
const maxListing = 1 << 20

// Live visits the logs of a container as they are now, by the web server of its
// node (NMWebServices: /ws/v1/node/containers/<id>/logs). A container that its
// node is about to start has none.
func Live(ctx context.Context, web Web, report records.ContainerReport, visit Visit) error {
	base, files, err := filesOf(ctx, web, report)
	if err != nil {
		return err
	}
	for _, file := range files {
		err := web.get(ctx, base+"/"+url.PathEscape(file.name), nil, "text/plain", func(body io.Reader) error {
			content, size := unwrap(body, math.MaxInt64)
			return visit(Log{Container: report.ID.String(), Node: report.Node.String(), Name: file.name, Size: size}, content)
		})
		if err != nil {
			return fmt.Errorf("read log %s of %s: %w", file.name, report.ID, err)
		}
	}
	return nil
}

// filesOf lists a container's logs, which are at base.
func filesOf(ctx context.Context, web Web, report records.ContainerReport) (base string, files []fileSize, err error) {
	base = report.NodeHTTPAddress
	if base == "" {
		return "", nil, fmt.Errorf("read logs of %s: YARN does not say where its node's web server is", report.ID)
	}
	if u, err := url.Parse(base); err != nil || u.Host == "" {
		base = "http://" + base
	}
	base += "/ws/v1/node/containers/" + report.ID.String() + "/logs"
	files, err = listing(ctx, web, base)
	if errors.Is(err, errStarting) {
		return base, nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("read logs of %s: %w", report.ID, err)
	}
	return base, files, nil
}

// fileSize is a log in a listing.
type fileSize struct {
	name string
	size int64 // bytes; -1: the listing does not tell
}

// errStarting is a node's answer about a container that does not run yet
// (ContainerLogsUtils#checkState).
var errStarting = errors.New("the container is being started")

// maxHead bounds what NodeManagers put before a log, in bytes.
const maxHead = 4 << 10

// unwrap takes off what NodeManagers put around a log
// (LogToolUtils#outputContainerLog) and tells its size:
//
//	Container: container_1_0001_01_000001 on 127.0.0.2:45454
//	…
//	LogLength:1451
//	LogContents:
//	<1451 bytes>End of LogType:…
//
// Of a larger file than most the content are its last bytes, so many, where that was asked
// for. An answer of another shape is left as it is, with a size of -1.
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

func listing(ctx context.Context, web Web, address string) ([]fileSize, error) {
	type info struct {
		Files []struct {
			Name string `json:"fileName"`
			Size string `json:"fileSize"`
		} `json:"containerLogInfo"`
	}
	var text []byte
	err := web.get(ctx, address, nil, "application/json", func(body io.Reader) (err error) {
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
			return nil, fmt.Errorf("%w: %w", ErrListing, err)
		}
		several.Logs = []info{one.Logs}
	}
	var found []fileSize
	for _, logs := range several.Logs {
		for _, file := range logs.Files {
			if file.Name == "" || file.Name == "." || file.Name == ".." { // they lead elsewhere
				return nil, fmt.Errorf("%w: it has one named %q", ErrListing, file.Name)
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
