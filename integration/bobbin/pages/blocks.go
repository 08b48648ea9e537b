package pages

import (
	"fmt"
	"regexp"
	"strings"
)

// page is what the test runs of a page of documentation.
type page struct {
	onCluster bool     // its commands speak to a cluster
	secure    bool     // to one with Kerberos
	blocks    []string // shell commands, in order
}

// These stand on pages whose readers have a cluster.
const (
	clusterMark = "<!-- sh: on a cluster -->"
	secureMark  = "<!-- sh: on a secure cluster -->"
)

var fence = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")

// parse finds the commands of a page. A block is sh, which is run; go, which internal/lint looks for in the code; or text. One that
// is none of these is an error: it would be tested by nothing.
func parse(content string) (page, error) {
	p := page{onCluster: strings.Contains(content, clusterMark), secure: strings.Contains(content, secureMark)}
	for _, block := range fence.FindAllStringSubmatch(content, -1) {
		switch kind, text := block[1], block[2]; kind {
		case "sh":
			p.blocks = append(p.blocks, text)
		case "go", "text":
		default:
			return page{}, fmt.Errorf("a block is of kind %q, want sh, go or text", kind)
		}
	}
	return p, nil
}

// script runs the blocks in one shell, as a reader types them in one terminal, and ends at the first command that fails.
func (p page) script() string {
	return "set -eu\n" + strings.Join(p.blocks, "\n")
}
