package ha

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Names in a term's directory.
const (
	authorityFile = "ca.pem"
	outcomeFile   = "outcome"
	stoppedFile   = "stopped"
	jobsDir       = "jobs"
	resultsDir    = "result"

	graphFile     = "graph"
	submittedFile = "submitted"
	cancelledFile = "cancelled"
	commitPrefix  = "commit-"
	// committedPrefix begins the names of empty files.
	committedPrefix = "committed-"

	addressPrefix = "am-"
)

// place is the name of the directory that tells who leads: live-<N> or ended-<N>.
type place struct {
	epoch ids.Epoch
	ended bool
}

func (p place) String() string {
	if p.ended {
		return fmt.Sprintf("ended-%d", p.epoch)
	}
	return fmt.Sprintf("live-%d", p.epoch)
}

// parsePlace reads the name of an entry of an application's directory. Most entries are no place.
func parsePlace(name string) (p place, is bool) {
	number, live := strings.CutPrefix(name, "live-")
	if !live {
		number, p.ended = strings.CutPrefix(name, "ended-")
	}
	n, is := parseNumber(number)
	p.epoch = ids.Epoch(n)
	return p, is && (live || p.ended)
}

// parseNumber reads a decimal number that is written in one way only.
func parseNumber(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == text
}

// addressName makes the name of the file that publishes a leader's address. HDFS forbids ':' in names, and the host
// may be an IPv6 address: so all but letters, digits, '.', '-' and '_' of the host is percent-encoded.
func addressName(epoch ids.Epoch, address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("publish an address: %w", err)
	}
	name := fmt.Sprintf("%s%d-%s-%s", addressPrefix, epoch, escape(host), port)
	if read, is := parseAddressName(name); !is || read != (Leader{epoch, address}) || len(name) > maxName {
		return "", fmt.Errorf("publish an address: %.80q is no host and port", address)
	}
	return name, nil
}

// maxName is the largest length of a name in HDFS, in bytes (dfs.namenode.fs-limits.max-component-length).
const maxName = 255

func escape(host string) string {
	var b strings.Builder
	for _, c := range []byte(host) {
		if plainByte(c) || c == '.' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func plainByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_'
}

// parseAddressName reads a name of addressName.
func parseAddressName(name string) (Leader, bool) {
	rest, is := strings.CutPrefix(name, addressPrefix)
	number, rest, more := strings.Cut(rest, "-")
	end := strings.LastIndexByte(rest, '-')
	epoch, numeric := parseNumber(number)
	if !is || !more || !numeric || end <= 0 {
		return Leader{}, false
	}
	host, err := url.PathUnescape(rest[:end])
	port, numeric := parseNumber(rest[end+1:])
	if err != nil || escape(host) != rest[:end] || !numeric || port == 0 || port > 0xffff {
		return Leader{}, false
	}
	return Leader{Epoch: ids.Epoch(epoch), Address: net.JoinHostPort(host, rest[end+1:])}, true
}

// resultName makes the name of a result.
func resultName(job ids.JobID, status msg.JobStatus) string {
	return string(job) + "." + string(status)
}

// parseResultName reads a name of resultName.
func parseResultName(name string) (ResultEntry, bool) {
	job, status, _ := strings.Cut(name, ".")
	e := ResultEntry{ids.JobID(job), msg.JobStatus(status)}
	return e, plainJob(e.ID) && e.Status.GloballyTerminal()
}

// plainJob reports whether a job's id can be a name, and a part of one.
func plainJob(job ids.JobID) bool {
	const most = 128
	for _, c := range []byte(job) {
		if !plainByte(c) {
			return false
		}
	}
	return job != "" && len(job) <= most
}

func commitName(region int) string    { return commitPrefix + strconv.Itoa(region) }
func committedName(region int) string { return committedPrefix + strconv.Itoa(region) }

// parseCommitName reads a name of commitName, or of committedName.
func parseCommitName(name string) (region int, finished, is bool) {
	number, is := strings.CutPrefix(name, commitPrefix)
	if !is {
		number, is = strings.CutPrefix(name, committedPrefix)
		finished = is
	}
	region, numeric := parseNumber(number)
	return region, finished, is && numeric
}

// temporary reports whether a name is that of something incomplete or removed.
func temporary(uri string) bool { return strings.HasPrefix(path.Base(uri), ".") }
