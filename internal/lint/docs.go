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
	// nameInFile is the form in which a page says where a name is declared.
	nameInFile = regexp.MustCompile("`(\\w+)` in\\s+`([A-Za-z0-9_./-]+\\.go)`")
	goBlock    = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	textBlock  = regexp.MustCompile("(?ms)^```text\n(.*?)^```$")
	anyBlock   = regexp.MustCompile("(?ms)^```.*?^```$")
	// commandLine is a line that users type. In pictures, commands stand in boxes or after a prompt.
	commandLine = regexp.MustCompile(`(?m)^(?:bobbin|cd|curl|eval|export|go|hdfs|kinit|make|mkdir|yarn|(?:\./|bin/|scripts/)\S+)(?: .*)?$`)
)

// Links checks that the targets on a page of documentation exist: those of relative links, headings
// that links name, on this page or another one, each path of a file that stands as code, and the declaration of
// each "`name` in `file`". files are the repository's, by their paths from its root.
func Links(name string, page []byte, files map[string][]byte) []string {
	var complaints []string
	text := prose(page)
	for _, found := range linkTarget.FindAllStringSubmatch(text, -1) {
		target, anchor, _ := strings.Cut(found[1], "#")
		switch {
		case strings.Contains(target, "://"):
		case target != "" && !hasPath(files, path.Join(path.Dir(name), target)):
			complaints = append(complaints, fmt.Sprintf("%s links to %s, which is not there", name, target))
		case target == "" && !slices.Contains(anchors(text), anchor):
			complaints = append(complaints, fmt.Sprintf("%s links to #%s and has no such heading", name, anchor))
		case anchor != "" && target != "" && !slices.Contains(anchors(prose(files[path.Join(path.Dir(name), target)])), anchor):
			complaints = append(complaints, fmt.Sprintf("%s links to %s, which has no such heading", name, found[1]))
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

// prose returns a page without its blocks of code, whose comments are no headings.
func prose(page []byte) string { return anyBlock.ReplaceAllString(string(page), "") }

// isOurs reports whether a word of code is a path in this repository: a path below a folder of its
// root, or a Go file.
func isOurs(word string, files map[string][]byte) bool {
	if !plainPath.MatchString(word) {
		return false
	}
	first, _, below := strings.Cut(word, "/")
	return strings.HasSuffix(word, ".go") || below && hasPath(files, first)
}

// isThere reports whether a path exists. A Go file without its folder may be in any folder.
func isThere(word string, files map[string][]byte) bool {
	if hasPath(files, word) {
		return true
	}
	return !strings.Contains(word, "/") && slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(file string) bool {
		return path.Base(file) == word
	})
}

// hasPath reports whether a file with this path exists, or a file below it.
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

// anchors returns the link targets of a page's headings.
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

// Snippets checks that each Go block on a page is in a compiled file, line by line. The indentation
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

// Commands checks that no text block on a page contains a command. Tests run sh blocks
// (integration/bobbin/pages). A command that no test runs breaks unnoticed.
func Commands(name string, page []byte) []string {
	var complaints []string
	for _, block := range textBlock.FindAllSubmatch(page, -1) {
		for _, line := range commandLine.FindAll(block[1], -1) {
			complaints = append(complaints, fmt.Sprintf("%s has the command %q in a block of text, want one of sh, which is run", name, line))
		}
	}
	return complaints
}

// Messages checks that the code contains the messages that a page explains, as code in the first
// column of tables that begin with "you see". An ellipsis stands for any text.
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

// isSaid reports whether the code, without tests, contains a text.
func isSaid(text string, files map[string][]byte) bool {
	for file, content := range files {
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && strings.Contains(string(content), text) {
			return true
		}
	}
	return false
}

// flush removes the indentation of every line.
func flush(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimLeft(line, " \t"))
	}
	return b.String()
}
