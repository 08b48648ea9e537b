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
var ErrNoMatch = errors.New("no file matches this pattern: name existing files, and quote the pattern so that the shell does not expand it")

// glob returns the files of all matches of a pattern, each file once. The pattern has Hadoop's
// syntax: "*", "?", "[a-z]", "[^a]", "{a,b}", and "\" before a literal character.
func (l *lister) glob(ctx context.Context, uri string) ([]file, error) {
	patterns, err := alternatives(uri)
	if err != nil {
		return nil, err
	}
	found := make([]matches, len(patterns))
	err = parallel(ctx, len(patterns), func(ctx context.Context, i int) (err error) {
		found[i], err = l.match(ctx, patterns[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var all matches
	for _, m := range found {
		all.files, all.some = append(all.files, m.files...), all.some || m.some
	}
	if !all.some {
		return nil, ErrNoMatch
	}
	slices.SortFunc(all.files, func(a, b file) int { return strings.Compare(a.uri, b.uri) })
	return slices.CompactFunc(all.files, func(a, b file) bool { return a.uri == b.uri }), nil
}

// matches holds the files of a pattern's matches.
type matches struct {
	files []file
	some  bool // the pattern has a match, which may be a directory without files
}

// match matches a qualified URI without alternatives, component by component. All components but
// the last one name directories.
func (l *lister) match(ctx context.Context, uri string) (matches, error) {
	root, names := splitURI(uri)
	dirs := []string{root}
	for _, name := range names[:max(0, len(names)-1)] {
		next := make([][]string, len(dirs))
		err := parallel(ctx, len(dirs), func(ctx context.Context, k int) (err error) {
			next[k], err = l.directoriesIn(ctx, dirs[k], name)
			return err
		})
		if err != nil {
			return matches{}, err
		}
		if dirs = slices.Concat(next...); len(dirs) == 0 {
			return matches{}, nil
		}
	}
	last := ""
	if len(names) > 0 {
		last = names[len(names)-1]
	}
	found := make([]matches, len(dirs))
	err := parallel(ctx, len(dirs), func(ctx context.Context, i int) (err error) {
		found[i], err = l.filesIn(ctx, dirs[i], last)
		return err
	})
	var all matches
	for _, m := range found {
		all.files, all.some = append(all.files, m.files...), all.some || m.some
	}
	return all, err
}

// directoriesIn returns the directories in dir that match one component of a pattern. dir was found
// before.
func (l *lister) directoriesIn(ctx context.Context, dir, pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, `*?[\`) {
		info, err := l.fs.Stat(ctx, join(dir, pattern))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir {
			return nil, nil
		}
		return []string{info.URI}, err
	}
	entries, err := l.fs.List(ctx, dir)
	if err != nil {
		return nil, vanished(dir, err)
	}
	var dirs []string
	for _, entry := range entries {
		ok, err := fits(pattern, path.Base(entry.URI))
		if err != nil {
			return nil, err
		}
		if ok && entry.IsDir {
			dirs = append(dirs, entry.URI)
		}
	}
	return dirs, nil
}

// filesIn returns the files in dir that match the last component of a pattern, and the files in
// the directories that match it. dir was found before.
func (l *lister) filesIn(ctx context.Context, dir, pattern string) (matches, error) {
	if !strings.ContainsAny(pattern, `*?[\`) {
		files, err := l.directory(ctx, join(dir, pattern))
		if errors.Is(err, fs.ErrNotExist) {
			return matches{}, nil
		}
		return matches{files, err == nil}, err
	}
	var found matches
	var dirs []string
	rights := make(map[string]bool)
	err := l.fs.Scan(ctx, dir, func(part []filesystem.Entry) error {
		kept := part[:0]
		for _, e := range part {
			ok, err := fits(pattern, path.Base(e.URI))
			switch {
			case err != nil:
				return err
			case ok && e.IsDir:
				dirs = append(dirs, e.URI)
			case ok:
				kept = append(kept, e)
			}
			found.some = found.some || ok
		}
		taken, err := l.take(ctx, kept, rights)
		found.files = append(found.files, taken...)
		return err
	})
	if err != nil {
		return matches{}, vanished(dir, err)
	}
	below := make([][]file, len(dirs))
	err = parallel(ctx, len(dirs), func(ctx context.Context, i int) (err error) {
		below[i], err = l.directory(ctx, dirs[i])
		return vanished(dirs[i], err)
	})
	found.files = append(found.files, slices.Concat(below...)...)
	return found, err
}

// fits reports whether a component of a pattern matches a name. Only a pattern that begins with "_"
// or "." matches hidden names.
func fits(pattern, name string) (bool, error) {
	ok, err := path.Match(pattern, name)
	if err != nil {
		return false, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return ok && (!hidden(name) || hidden(pattern)), nil
}

// maxAlternatives bounds the expansion of one pattern, because each pair of braces
// multiplies the number of patterns.
const maxAlternatives = 1 << 12

// ErrTooMany says that the braces of a glob expand to too many patterns.
var ErrTooMany = errors.New("its braces expand to more than 4096 patterns: use fewer alternatives, or * and ?")

// alternatives expands the "{a,b}" of a pattern, also nested ones.
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

// spellOut returns the patterns to which the first pair of braces expands, or nil if
// there is no pair. A brace without its partner is a literal character.
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

// splitURI separates scheme://authority/ from the names of the path.
func splitURI(uri string) (root string, names []string) {
	root, path := filesystem.Split(uri)
	return root + "/", strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

func join(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }
