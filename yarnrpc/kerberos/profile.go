package kerberos

import (
	"errors"
	"fmt"
	"strings"
)

// Limits of the reader. A site's krb5.conf with all its includes has some hundred
// relations in a few kilobytes.
const (
	maxConfigBytes     = 1 << 20 // of one file
	maxConfigRelations = 10_000  // over all files
	maxConfigFiles     = 256
	maxIncludeDepth    = 10
	maxSectionDepth    = 16
)

// ConfigError says that a krb5.conf, or a file that it includes, cannot be read.
type ConfigError struct {
	File string
	Line int // from 1; 0: no line
	Err  error
}

// Error is "file:line: reason".
func (e *ConfigError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// relation is "tag = value", or "tag = { … }" and "[tag]" with section set.
type relation struct {
	tag      string
	value    string
	section  bool
	final    int // number, from 1, of the file in KRB5_CONFIG after which nothing is added; 0: none
	children []*relation
	file     string
	line     int
}

// fail returns an error about this relation.
func (r *relation) fail(err error) error {
	return &ConfigError{File: r.file, Line: r.line, Err: err}
}

// sub returns the section of that name, or nil. A nil section has no children.
func (r *relation) sub(tag string) *relation {
	for _, child := range r.all(tag) {
		if child.section {
			return child
		}
	}
	return nil
}

// all returns the children of one name in the order of the files.
func (r *relation) all(tag string) (found []*relation) {
	if r == nil {
		return nil
	}
	for _, child := range r.children {
		if child.tag == tag {
			found = append(found, child)
		}
	}
	return found
}

// first returns the relation of a tag that can have only one value. Of several relations it
// is the first one, as in MIT's library. It returns nil if there is none.
func (r *relation) first(tag string) *relation {
	for _, child := range r.all(tag) {
		if !child.section {
			return child
		}
	}
	return nil
}

// parser is the state within one file. Like MIT's prof_parse.c, it starts each included
// file outside of any section.
type parser struct {
	reader *profileReader
	file   string
	line   int
	depth  int         // of includes that led here
	open   []*relation // the section of the last header, then the open braces
	// brace is a relation that waits for "{" on its own line, after "tag ="
	brace *relation
}

// parse reads the text of one file into the reader's tree.
func (p *parser) parse(text string) error {
	text = strings.TrimPrefix(text, "\ufeff")
	for line := range strings.Lines(text) {
		p.line++
		if err := p.parseLine(strings.TrimSpace(line)); err != nil {
			if placed := (*ConfigError)(nil); errors.As(err, &placed) {
				return err
			}
			return &ConfigError{File: p.file, Line: p.line, Err: err}
		}
	}
	return nil
}

func (p *parser) parseLine(line string) error {
	if line == "" || line[0] == '#' || line[0] == ';' {
		return nil
	}
	if path, ok := directive(line, "include"); ok {
		return p.reader.include(path, p.depth+1)
	}
	if path, ok := directive(line, "includedir"); ok {
		return p.reader.includeDir(path, p.depth+1)
	}
	if p.brace != nil {
		waiting := p.brace
		p.brace = nil
		if line[0] == '{' {
			return p.enter(waiting, line)
		}
		// no "{" follows: the tag has an empty value, and the parser drops it
	}
	switch {
	case line[0] == '[':
		return p.header(line)
	case len(p.open) == 0: // text before the first section means nothing
		return nil
	case line[0] == '}':
		return p.leave(line)
	default:
		return p.relation(line)
	}
}

// directive splits "include PATH".
func directive(line, name string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(line, name)
	if !ok || rest == "" || rest[0] != ' ' && rest[0] != '\t' {
		return "", false
	}
	path = strings.TrimSpace(rest)
	return path, !strings.HasPrefix(path, "=") // with "=", it is a tag of that name
}

// header opens "[section]" or "[section]*".
func (p *parser) header(line string) error {
	if len(p.open) > 1 {
		return fmt.Errorf("section %s inside of braces: a \"}\" is missing before it", line)
	}
	name, rest, ok := strings.Cut(line[1:], "]")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return fmt.Errorf("section header %q is not [name]", line)
	}
	section, err := p.reader.section(&p.reader.root, &relation{
		tag: name, section: true, final: p.final(strings.HasPrefix(rest, "*")), file: p.file, line: p.line,
	})
	p.open = []*relation{section}
	return err
}

// leave closes a brace: "}" or "}*".
func (p *parser) leave(line string) error {
	if len(p.open) < 2 {
		return errors.New("\"}\" without its \"{\"")
	}
	last := len(p.open) - 1
	if strings.HasPrefix(line, "}*") {
		p.open[last].final = p.final(true)
	}
	p.open = p.open[:last]
	return nil
}

// relation parses "tag = value", "tag = {", or both braces on one line.
func (p *parser) relation(line string) error {
	tag, value, ok := strings.Cut(line, "=")
	if tag = strings.TrimSpace(tag); !ok || tag == "" {
		return fmt.Errorf("line %q is not tag = value", line)
	}
	tag, final := strings.CutSuffix(tag, "*")
	r := &relation{tag: strings.TrimSpace(tag), final: p.final(final), file: p.file, line: p.line}
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		p.brace = r
		return nil
	case value[0] == '{':
		return p.enter(r, value)
	case value[0] == '"':
		r.value = unquote(value[1:])
	default:
		r.value = uncomment(value)
	}
	return p.reader.add(p.open[len(p.open)-1], r)
}

// final returns the number for a final marker. The marker excludes the later files of
// KRB5_CONFIG, but nothing in this file and its includes.
func (p *parser) final(marked bool) int {
	if !marked {
		return 0
	}
	return p.reader.list
}

// enter opens the braces of a relation. text is "{" and the rest of the line.
func (p *parser) enter(r *relation, text string) error {
	if len(p.open) >= maxSectionDepth {
		return fmt.Errorf("braces nested deeper than %d", maxSectionDepth)
	}
	r.section = true
	section, err := p.reader.section(p.open[len(p.open)-1], r)
	if err != nil {
		return err
	}
	p.open = append(p.open, section)
	inside := uncomment(strings.TrimSpace(text[1:]))
	if inside == "" || inside[0] == '#' || inside[0] == ';' {
		return nil
	}
	inside, closed := strings.CutSuffix(inside, "}")
	if inside = strings.TrimSpace(inside); inside != "" {
		if err := p.relation(inside); err != nil {
			return err
		}
		p.brace = nil
	}
	if closed {
		return p.leave("}")
	}
	return nil
}

// uncomment drops a comment after a value. MIT's library takes such a comment for a part of
// the value, and cannot use that value. So no value that works there changes.
func uncomment(value string) string {
	for i := 1; i < len(value); i++ {
		if (value[i] == '#' || value[i] == ';') && (value[i-1] == ' ' || value[i-1] == '\t') {
			return strings.TrimSpace(value[:i-1])
		}
	}
	return value
}

// unquote reads up to the closing quote, with the escapes of prof_parse.c.
func unquote(text string) string {
	var value strings.Builder
	for i := 0; i < len(text) && text[i] != '"'; i++ {
		c := text[i]
		if c == '\\' && i+1 < len(text) {
			i++
			switch c = text[i]; c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			default: // a character that stands for itself
			}
		}
		value.WriteByte(c)
	}
	return value.String()
}
