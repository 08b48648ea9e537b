package hadoopconf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Limits of the reader. The configuration of a large site has some hundred properties in
// less than 200 KiB.
const (
	maxFileBytes    = 8 << 20
	maxProperties   = 100_000 // over all included files of one file
	maxIncludeDepth = 10
	maxNesting      = 64 // elements within elements
)

// ParseError says that a configuration file is no valid Hadoop XML.
type ParseError struct {
	File string
	Line int // 0 if the file could not be read
	Err  error
}

// Error is "file:line: reason".
func (e *ParseError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// errAbsent says that a file does not exist. Load accepts that, and so does an include
// with a fallback.
var errAbsent = errors.New("no such file")

// property is one <property> as written: the name trimmed, the value raw.
type property struct {
	name   string
	value  string
	final  bool
	source Source
}

// parseFile reads one file and its includes. depth is the number of includes that led
// here. If the file does not exist, the error is errAbsent.
func parseFile(path string, depth int) ([]property, error) {
	data, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &ParseError{File: path, Err: errAbsent}
	}
	if err != nil {
		return nil, &ParseError{File: path, Err: err}
	}
	return parse(path, data, func(href string) ([]property, error) {
		if depth >= maxIncludeDepth {
			return nil, fmt.Errorf("xi:include nested deeper than %d: does %s include itself?", maxIncludeDepth, href)
		}
		target, err := includePath(path, href)
		if err != nil {
			return nil, err
		}
		return parseFile(target, depth+1)
	})
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("larger than %d bytes", maxFileBytes)
	}
	return data, nil
}

// includePath resolves the href of an xi:include against the including file.
func includePath(from, href string) (string, error) {
	if u, err := url.Parse(href); err == nil && u.Scheme != "" {
		if u.Scheme != "file" {
			return "", fmt.Errorf("xi:include of %s: only local files can be included", href)
		}
		href = u.Path
	}
	if filepath.IsAbs(href) {
		return href, nil
	}
	return filepath.Join(filepath.Dir(from), href), nil
}

// parse reads the properties of one document in file order. include loads the
// target of an xi:include.
func parse(file string, data []byte, include func(href string) ([]property, error)) ([]property, error) {
	p := &parser{file: file, include: include, decoder: xml.NewDecoder(bytes.NewReader(data))}
	p.decoder.CharsetReader = latinReader
	if err := p.document(); err != nil {
		if _, ok := errors.AsType[*ParseError](err); ok { // an error of an included file has its own line
			return nil, err
		}
		line, _ := p.decoder.InputPos()
		return nil, &ParseError{File: file, Line: line, Err: withoutLine(err)}
	}
	return p.properties, nil
}

// withoutLine drops the line number from a message of encoding/xml, because ParseError
// begins with the line.
func withoutLine(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the file ends inside an element: %w", err)
	}
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return errors.New(syntax.Msg)
	}
	return err
}

type parser struct {
	file       string
	include    func(href string) ([]property, error)
	decoder    *xml.Decoder
	properties []property
	depth      int
}

func (p *parser) document() error {
	rooted := false
	for {
		token, err := p.decoder.Token()
		if errors.Is(err, io.EOF) {
			if !rooted {
				return errors.New("no <configuration> element")
			}
			return nil
		}
		if err != nil {
			return err
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if start.Name.Local != "configuration" {
			return fmt.Errorf("root element is <%s>, want <configuration>", start.Name.Local)
		}
		rooted = true
		if err := p.configuration(); err != nil {
			return err
		}
	}
}

// configuration reads the rest of <configuration>, of one nested in it, or of
// <xi:fallback>. Like Java, it also looks for properties inside unknown elements.
func (p *parser) configuration() error {
	if p.depth++; p.depth > maxNesting {
		return fmt.Errorf("elements nested deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	return p.children(func(child xml.StartElement) error {
		switch child.Name.Local {
		case "property":
			return p.property(child)
		case "include":
			return p.xinclude(child)
		default:
			return p.configuration()
		}
	})
}

// children reads up to the end tag of the current element. It calls read for each child
// element; read also reads the child's end tag.
func (p *parser) children(read func(xml.StartElement) error) error {
	for {
		token, err := p.decoder.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if err := read(t); err != nil {
				return err
			}
		}
	}
}

// property reads one <property>, whose parts may be elements or attributes. As in Java, a
// property with an empty value does not count: the value of an earlier file stays.
func (p *parser) property(start xml.StartElement) error {
	line, _ := p.decoder.InputPos()
	prop := property{source: Source{File: p.file, Line: line}}
	assign := func(part, text string) {
		switch part {
		case "name":
			prop.name = strings.TrimSpace(text)
		case "value":
			prop.value = text
		case "final":
			prop.final = text == "true"
		case "source": // written by Marshal: the source of the value
			prop.source = parseSource(text, prop.source)
		}
	}
	for _, a := range start.Attr {
		assign(a.Name.Local, a.Value)
	}
	err := p.children(func(part xml.StartElement) error {
		text, err := p.text()
		assign(part.Name.Local, text)
		return err
	})
	if err != nil || prop.name == "" || prop.value == "" {
		return err
	}
	return p.add(prop)
}

func (p *parser) add(properties ...property) error {
	if len(p.properties)+len(properties) > maxProperties {
		return fmt.Errorf("more than %d properties", maxProperties)
	}
	p.properties = append(p.properties, properties...)
	return nil
}

// text reads the character data of an element up to its end tag.
func (p *parser) text() (string, error) {
	var b strings.Builder
	for {
		token, err := p.decoder.Token()
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			if err := p.decoder.Skip(); err != nil {
				return "", err
			}
		case xml.EndElement:
			return b.String(), nil
		}
	}
}

// xinclude reads <xi:include href="…">. If the file does not exist, its <xi:fallback>
// replaces it. Any other problem with the file is an error.
func (p *parser) xinclude(start xml.StartElement) error {
	href := ""
	for _, a := range start.Attr {
		if a.Name.Local == "href" {
			href = a.Value
		}
	}
	if href == "" {
		return errors.New("xi:include without href")
	}
	included, err := p.include(href)
	missing := errors.Is(err, errAbsent)
	if err != nil && !missing {
		return err
	}
	if err := p.add(included...); err != nil {
		return err
	}
	err = p.children(func(child xml.StartElement) error {
		if child.Name.Local != "fallback" || !missing {
			return p.decoder.Skip()
		}
		missing = false
		return p.configuration()
	})
	if err == nil && missing {
		return fmt.Errorf("xi:include of %s: no such file, and there is no xi:fallback", href)
	}
	return err
}

// latinReader decodes the encodings other than UTF-8 that occur in configuration files.
func latinReader(charset string, input io.Reader) (io.Reader, error) {
	switch strings.ToLower(charset) {
	case "utf8", "us-ascii", "ascii":
		return input, nil
	case "iso-8859-1", "latin1":
		data, err := io.ReadAll(input)
		if err != nil {
			return nil, err
		}
		runes := make([]rune, len(data))
		for i, b := range data {
			runes[i] = rune(b)
		}
		return strings.NewReader(string(runes)), nil
	default:
		return nil, fmt.Errorf("encoding %s is not supported: save the file as UTF-8", charset)
	}
}
