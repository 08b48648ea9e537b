package pages

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// page is a page of documentation, with the blocks that the test runs.
type page struct {
	onCluster bool // its commands need a cluster
	secure    bool // its commands need a cluster with Kerberos
	blocks    []block
}

// startsCluster reports whether the page's commands start a cluster.
func (p page) startsCluster() bool {
	return slices.ContainsFunc(p.blocks, func(b block) bool { return strings.Contains(b.text, "scripts/cluster up") })
}

// block is a block of shell commands.
type block struct {
	text  string
	fails bool // it starts an application or a job that will fail
}

// These marks are on pages whose readers have a cluster.
const (
	clusterMark = "<!-- sh: on a cluster -->"
	secureMark  = "<!-- sh: on a secure cluster -->"
)

// failsMark is in the line above a block that shows the failure of an application or a job, not of a command.
const failsMark = "<!-- sh: fails -->"

var (
	fence = regexp.MustCompile("(?ms)^(" + failsMark + "\n)?```([^\n]*)\n(.*?)^```$")
	ends  = regexp.MustCompile(`\bbobbin (kill|cancel)\b`)
)

// parse finds the blocks of a page. The kinds are sh, which the test runs; go, which internal/lint looks for in the
// code; and text. Another kind is an error, because nothing would test it.
func parse(content string) (page, error) {
	p := page{onCluster: strings.Contains(content, clusterMark), secure: strings.Contains(content, secureMark)}
	marks := 0
	for _, found := range fence.FindAllStringSubmatch(content, -1) {
		switch mark, kind, text := found[1], found[2], found[3]; kind {
		case "sh":
			p.blocks = append(p.blocks, block{text: text, fails: mark != ""})
			if mark != "" {
				marks++
			}
		case "go", "text":
		default:
			return page{}, fmt.Errorf("a block is of kind %q, want sh, go or text", kind)
		}
	}
	if all := strings.Count(content, failsMark); all != marks {
		return page{}, fmt.Errorf("%d of %d marks %s are not directly above a block of commands", all-marks, all, failsMark)
	}
	return p, nil
}

// endsSomething reports whether the block cancels a job or kills an application.
func (b block) endsSomething() bool { return ends.MatchString(b.text) }
