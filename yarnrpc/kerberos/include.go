package kerberos

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// profileReader collects the relations of several files in one tree.
type profileReader struct {
	fsys      fs.FS // the root of the file system
	root      relation
	list      int // number, from 1, of the current file in KRB5_CONFIG
	files     int
	relations int
}

// closed reports whether a relation or section has a final marker from an earlier file of the
// list. The current file then adds nothing to it.
func (r *profileReader) closed(there *relation) bool {
	return there.final != 0 && there.final < r.list
}

// add puts a relation under a section, unless a relation of that name is closed.
func (r *profileReader) add(to, child *relation) error {
	if r.relations++; r.relations > maxConfigRelations {
		return fmt.Errorf("more than %d relations in krb5.conf and what it includes", maxConfigRelations)
	}
	if !slices.ContainsFunc(to.all(child.tag), r.closed) {
		to.children = append(to.children, child)
	}
	return nil
}

// section puts section s under another and returns the section to fill. That is the existing
// section of that name, if there is one, and s otherwise. If the existing one is closed, it is
// s too, but outside the tree.
func (r *profileReader) section(under, s *relation) (*relation, error) {
	there := under.sub(s.tag)
	switch {
	case there == nil:
		return s, r.add(under, s)
	case r.closed(there):
		return s, nil
	default:
		there.final = max(there.final, s.final)
		return there, nil
	}
}

// read reads the file with that absolute path.
func (r *profileReader) read(name string, depth int) error {
	text, err := readBounded(r.fsys, name, maxConfigBytes)
	if err != nil {
		return &ConfigError{File: name, Err: err}
	}
	return r.parse(name, text, depth)
}

// absent reports whether err says that the named file does not exist. It returns false if only
// a file that this one includes is missing.
func absent(err error, name string) bool {
	var placed *ConfigError
	return errors.As(err, &placed) && placed.File == name && placed.Line == 0 && errors.Is(err, fs.ErrNotExist)
}

func (r *profileReader) parse(name string, text []byte, depth int) error {
	if r.files++; r.files > maxConfigFiles {
		return fmt.Errorf("more than %d files included: does %s include itself?", maxConfigFiles, name)
	}
	p := parser{reader: r, file: name, depth: depth}
	return p.parse(string(text))
}

// include reads a file that must exist.
func (r *profileReader) include(name string, depth int) error {
	if err := includable("include", name, depth); err != nil {
		return err
	}
	err := r.read(name, depth)
	if absent(err, name) {
		return fmt.Errorf("include %s: %w; create the file or remove the line", name, fs.ErrNotExist)
	}
	return err
}

// includeDir reads the files of a directory in the order of their names. A missing
// directory counts as empty: packages put the line into krb5.conf before the program that
// fills the directory is installed, and containers often lack the directory. It skips a
// link whose target is missing.
func (r *profileReader) includeDir(name string, depth int) error {
	if err := includable("includedir", name, depth); err != nil {
		return err
	}
	entries, err := fs.ReadDir(r.fsys, relative(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("includedir: %w", err)
	}
	for _, entry := range entries {
		if entry.IsDir() || !includedName(entry.Name()) {
			continue
		}
		err := r.read(path.Join(name, entry.Name()), depth)
		if err != nil && !absent(err, path.Join(name, entry.Name())) {
			return err
		}
	}
	return nil
}

func includable(directive, name string, depth int) error {
	if !path.IsAbs(name) {
		return fmt.Errorf("%s %s: write the absolute path", directive, name)
	}
	if depth > maxIncludeDepth {
		return fmt.Errorf("%s %s: nested deeper than %d: does a file include itself?", directive, name, maxIncludeDepth)
	}
	return nil
}

// includedName reports whether includedir reads a file with this name (krb5.conf(5)). The name
// ends in .conf, or consists of letters, digits, dashes and underscores. includedir never reads
// hidden files.
func includedName(name string) bool {
	if strings.HasPrefix(name, ".") {
		return false
	}
	if strings.HasSuffix(name, ".conf") {
		return true
	}
	return strings.IndexFunc(name, func(c rune) bool {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		return !letter && (c < '0' || c > '9') && c != '-' && c != '_'
	}) < 0
}

// relative returns an absolute path in the form that an fs.FS of the root needs.
func relative(name string) string {
	if name = strings.TrimPrefix(path.Clean(name), "/"); name == "" {
		return "."
	}
	return name
}

// readBounded reads a whole file. It refuses a file that is too large.
func readBounded(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(relative(name))
	if err != nil {
		if pathError := (*fs.PathError)(nil); errors.As(err, &pathError) {
			err = pathError.Err // the path is without its first slash
		}
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

func readAll(from io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("larger than %d bytes", limit)
	}
	return data, err
}
