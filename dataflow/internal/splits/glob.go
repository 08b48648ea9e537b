package splits

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// ErrNoMatch says that a glob matches nothing.
var ErrNoMatch = errors.New("no file matches this pattern: name files that are there, in quotes so that the shell leaves it alone")

// resolve gives the files and directories that an input names: one that exists
// under exactly this name, or else the matches of a glob in Hadoop's syntax:
// "*", "?", "[a-z]", "[^a]", "{a,b}", and "\" before a character that stands for
// itself.
func resolve(ctx context.Context, fsys filesystem.FileSystem, input string) ([]filesystem.FileInfo, error) {
	uri, err := fsys.Qualify(input)
	if err != nil {
		return nil, err
	}
	info, err := fsys.Stat(ctx, uri)
	if err == nil {
		return []filesystem.FileInfo{info}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(input, `*?[{\`) {
		return nil, err
	}
	var matches []filesystem.FileInfo
	patterns, err := alternatives(uri)
	if err != nil {
		return nil, err
	}
	for _, pattern := range patterns {
		found, err := glob(ctx, fsys, pattern)
		if err != nil {
			return nil, err
		}
		matches = append(matches, found...)
	}
	if len(matches) == 0 {
		return nil, ErrNoMatch
	}
	slices.SortFunc(matches, func(a, b filesystem.FileInfo) int { return strings.Compare(a.URI, b.URI) })
	return slices.CompactFunc(matches, func(a, b filesystem.FileInfo) bool { return a.URI == b.URI }), nil
}

// glob matches a qualified URI without alternatives, component by component.
func glob(ctx context.Context, fsys filesystem.FileSystem, uri string) ([]filesystem.FileInfo, error) {
	root, names := splitURI(uri)
	found := []filesystem.FileInfo{{URI: root, IsDir: true}}
	for _, name := range names {
		var next []filesystem.FileInfo
		for _, dir := range found {
			matches, err := matchIn(ctx, fsys, dir.URI, name)
			if err != nil {
				return nil, err
			}
			next = append(next, matches...)
		}
		found = next
	}
	return found, nil
}

// matchIn gives what is in a directory and matches one component of a pattern;
// nothing where the directory is a file.
func matchIn(ctx context.Context, fsys filesystem.FileSystem, dir, pattern string) ([]filesystem.FileInfo, error) {
	if !strings.ContainsAny(pattern, `*?[\`) {
		info, err := fsys.Stat(ctx, join(dir, pattern))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return []filesystem.FileInfo{info}, err
	}
	info, err := fsys.Stat(ctx, dir)
	if err != nil || !info.IsDir {
		return nil, err
	}
	entries, err := fsys.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	var matches []filesystem.FileInfo
	for _, entry := range entries {
		name := path.Base(entry.URI)
		ok, err := path.Match(pattern, name)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		if ok && (!hidden(name) || hidden(pattern)) {
			matches = append(matches, entry)
		}
	}
	return matches, nil
}

// maxAlternatives bounds the patterns that one stands for: each pair of braces
// multiplies them.
const maxAlternatives = 1 << 12

// ErrTooMany says that a pattern stands for too many others.
var ErrTooMany = errors.New("its braces stand for more than 4096 patterns: name fewer, or use * and ?")

// alternatives spells out the "{a,b}" of a pattern, nested ones too.
func alternatives(pattern string) ([]string, error) {
	var plain []string
	for open := []string{pattern}; len(open) > 0; {
		last := len(open) - 1
		next := spellOut(open[last])
		if next == nil {
			plain = append(plain, open[last])
		}
		open = append(open[:last], next...)
		if len(open)+len(plain) > maxAlternatives {
			return nil, ErrTooMany
		}
	}
	return plain, nil
}

// spellOut gives the patterns that the first pair of braces stands for; nil where
// there is none. Braces that don't pair stand for themselves.
func spellOut(pattern string) []string {
	open, depth := -1, 0
	var commas []int
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			if depth++; depth == 1 {
				open, commas = i, []int{i}
			}
		case c == ',' && depth == 1:
			commas = append(commas, i)
		case c == '}' && depth == 1:
			commas = append(commas, i)
			var all []string
			for k := range commas[1:] {
				all = append(all, pattern[:open]+pattern[commas[k]+1:commas[k+1]]+pattern[i+1:])
			}
			return all
		case c == '}' && depth > 1:
			depth--
		}
	}
	return nil
}

// splitURI parts scheme://authority/ from the names of the path.
func splitURI(uri string) (root string, names []string) {
	authority := strings.Index(uri, "://") + len("://")
	slash := authority + strings.Index(uri[authority:], "/")
	return uri[:slash+1], strings.FieldsFunc(uri[slash+1:], func(r rune) bool { return r == '/' })
}

func join(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }
