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
	text   string
	fails  bool   // it starts an application or a job that will fail
	prints string // the end of its output, or ""
}

// These marks are on pages whose readers have a cluster.
const (
	clusterMark = "<!-- sh: on a cluster -->"
	secureMark  = "<!-- sh: on a secure cluster -->"
)

// failsMark is in the line above a block that shows the failure of an application or a job, not of a command.
const failsMark = "<!-- sh: fails -->"

// printsMark is in the line above a text block with the last lines that the block of commands before it prints.
const printsMark = "<!-- sh: prints -->"

var (
	fence = regexp.MustCompile("(?ms)^(" + failsMark + "\n|" + printsMark + "\n)?```([^\n]*)\n(.*?)^```$")
	ends  = regexp.MustCompile(`\bbobbin (kill|cancel)\b`)
)

// parse finds the blocks of a page. The kinds are sh, which the test runs; go, which internal/lint looks for in the
// code; and text. Another kind is an error, because nothing would test it.
func parse(content string) (page, error) {
	p := page{onCluster: strings.Contains(content, clusterMark), secure: strings.Contains(content, secureMark)}
	fails, prints := 0, 0
	for _, found := range fence.FindAllStringSubmatch(content, -1) {
		switch mark, kind, text := strings.TrimSpace(found[1]), found[2], found[3]; {
		case kind == "sh":
			p.blocks = append(p.blocks, block{text: text, fails: mark == failsMark})
			if mark == failsMark {
				fails++
			}
		case kind == "text" && mark == printsMark && len(p.blocks) > 0:
			p.blocks[len(p.blocks)-1].prints = text
			prints++
		case kind == "go" || kind == "text":
		default:
			return page{}, fmt.Errorf("a block is of kind %q, want sh, go or text", kind)
		}
	}
	if all := strings.Count(content, failsMark); all != fails {
		return page{}, fmt.Errorf("%d of %d marks %s are not directly above a block of commands", all-fails, all, failsMark)
	}
	if all := strings.Count(content, printsMark); all != prints {
		return page{}, fmt.Errorf("%d of %d marks %s are not directly above a block of text that follows commands", all-prints, all, printsMark)
	}
	return p, nil
}

// endsSomething reports whether the block cancels a job or kills an application.
func (b block) endsSomething() bool { return ends.MatchString(b.text) }
