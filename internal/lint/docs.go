package lint

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	heading    = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	// plainPath is a path without a placeholder, a glob or a blank in it.
	plainPath = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*/?$`)
	// nameInFile is how a page says where something is declared.
	nameInFile = regexp.MustCompile("`(\\w+)` in\\s+`([A-Za-z0-9_./-]+\\.go)`")
	goBlock    = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	textBlock  = regexp.MustCompile("(?ms)^```text\n(.*?)^```$")
	anyBlock   = regexp.MustCompile("(?ms)^```.*?^```$")
	// commandLine is a line as people type it. In pictures commands stand in boxes, or behind a prompt.
	commandLine = regexp.MustCompile(`(?m)^(?:bobbin|cd|curl|eval|export|go|hdfs|kinit|make|mkdir|yarn|(?:\./|bin/|scripts/)\S+)(?: .*)?$`)
)

// Links checks that what a page of documentation points to is there: the targets of its relative links, the headings
// of this page among them, every path of a file that it names as code, and the declaration of every "`name` in `file`".
// files are the repository's, by their path from its root.
func Links(name string, page []byte, files map[string][]byte) []string {
	var complaints []string
	text := anyBlock.ReplaceAllString(string(page), "")
	for _, found := range linkTarget.FindAllStringSubmatch(text, -1) {
		target, anchor, _ := strings.Cut(found[1], "#")
		switch {
		case strings.Contains(target, "://"):
		case target != "" && !hasPath(files, path.Join(path.Dir(name), target)):
			complaints = append(complaints, fmt.Sprintf("%s links to %s, which is not there", name, target))
		case target == "" && !slices.Contains(anchors(text), anchor):
			complaints = append(complaints, fmt.Sprintf("%s links to #%s and has no such heading", name, anchor))
		}
	}
	for _, found := range codeSpan.FindAllStringSubmatch(text, -1) {
		if named := strings.TrimPrefix(found[1], "./"); isOurs(named, files) && !isThere(named, files) {
			complaints = append(complaints, fmt.Sprintf("%s names %s, which is not there", name, found[1]))
		}
	}
	for _, found := range nameInFile.FindAllStringSubmatch(text, -1) {
		declared := regexp.MustCompile(`(?m)^((func (\([^)]*\) )?|type |var |const )` + found[1] + `\b|\t` + found[1] + `\s)`)
		if !declared.Match(files[found[2]]) {
			complaints = append(complaints, fmt.Sprintf("%s says that %s is in %s, where it is not declared", name, found[1], found[2]))
		}
	}
	return complaints
}

// isOurs says whether a word of code is a path in this repository: one below a folder of its root, or a Go file.
func isOurs(word string, files map[string][]byte) bool {
	if !plainPath.MatchString(word) {
		return false
	}
	first, _, below := strings.Cut(word, "/")
	return strings.HasSuffix(word, ".go") || below && hasPath(files, first)
}

// isThere says whether a path exists. A Go file that is named without its folder may be in any: the text says which.
func isThere(word string, files map[string][]byte) bool {
	if hasPath(files, word) {
		return true
	}
	return !strings.Contains(word, "/") && slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(file string) bool {
		return path.Base(file) == word
	})
}

// hasPath says whether there is a file of this path, or one below it.
func hasPath(files map[string][]byte, wanted string) bool {
	wanted = path.Clean(wanted)
	if _, is := files[wanted]; is {
		return true
	}
	for file := range files {
		if within(file, wanted) {
			return true
		}
	}
	return false
}

// anchors are what links to the headings of a page look like.
func anchors(page string) []string {
	var found []string
	for _, match := range heading.FindAllStringSubmatch(page, -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r > 0x7f:
				return r
			}
			return -1
		}, strings.ToLower(match[1]))
		found = append(found, anchor)
	}
	return found
}

// Snippets checks that each block of Go in a page stands in a file that is compiled, line by line; indentation as a whole
// may differ.
func Snippets(name string, page []byte, files map[string][]byte) []string {
	var complaints []string
	for _, block := range goBlock.FindAllSubmatch(page, -1) {
		snippet := flush(string(block[1]))
		found := false
		for file, content := range files {
			found = found || strings.HasSuffix(file, ".go") && strings.Contains("\n"+flush(string(content)), "\n"+snippet)
		}
		if !found {
			first, _, _ := strings.Cut(snippet, "\n")
			complaints = append(complaints, fmt.Sprintf("%s: the Go code from %q stands in no file of the repository", name, first))
		}
	}
	return complaints
}

// Commands checks that no block of text in a page has a command in it: blocks of sh are run (integration/bobbin/pages), and what
// never runs will not work one day.
func Commands(name string, page []byte) []string {
	var complaints []string
	for _, block := range textBlock.FindAllSubmatch(page, -1) {
		for _, line := range commandLine.FindAll(block[1], -1) {
			complaints = append(complaints, fmt.Sprintf("%s has the command %q in a block of text, want one of sh, which is run", name, line))
		}
	}
	return complaints
}

// Messages checks that the messages which a page explains, as code in the first column of tables that begin with "you see", are
// ones that the program has. An ellipsis stands for anything.
func Messages(name string, page []byte, files map[string][]byte) []string {
	var complaints []string
	explaining := false
	for line := range strings.Lines(string(page)) {
		if explaining = strings.HasPrefix(line, "| you see ") || explaining && strings.HasPrefix(line, "|"); !explaining {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), " | ")
		for _, span := range codeSpan.FindAllStringSubmatch(first, -1) {
			for part := range strings.SplitSeq(span[1], "…") {
				if part = strings.TrimSpace(part); !isSaid(part, files) {
					complaints = append(complaints, fmt.Sprintf("%s explains the message %q, which nothing says", name, part))
				}
			}
		}
	}
	return complaints
}

// isSaid says whether a text stands in the code, tests apart.
func isSaid(text string, files map[string][]byte) bool {
	for file, content := range files {
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && strings.Contains(string(content), text) {
			return true
		}
	}
	return false
}

// flush takes the indentation off every line.
func flush(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimLeft(line, " \t"))
	}
	return b.String()
}
