package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// keeper writes each result to a file at once, so that a later error does not lose minutes of work.
// The zero keeper keeps nothing.
type keeper struct {
	path    string
	content string // of the file
	machine string // if the page is of another one
}

// keepIn makes a keeper of a file. If the file does not exist, it begins a new page.
func keepIn(path string, m machine, hadoop string) (keeper, error) {
	if path == "" {
		return keeper{}, nil
	}
	k := keeper{path: path, content: page(m, hadoop, nil)}
	content, err := os.ReadFile(path)
	if err == nil {
		k.content = string(content)
		if machineOf(k.content) != m.String() {
			k.machine = m.String()
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return k, fmt.Errorf("keep measurements: %w", err)
	}
	return k, nil
}

// machineOf is the machine that a page names at its beginning.
func machineOf(page string) string {
	for line := range strings.Lines(page) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && strings.TrimSpace(cells[1]) == "machine" {
			return strings.TrimSpace(cells[2])
		}
	}
	return ""
}

// checkKept checks that a file can be written, before the measurements.
func checkKept(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("keep measurements in %s: it is not a regular file", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("keep measurements: %w", err)
	}
	probe, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("keep measurements in %s: %w", path, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// add keeps one more section.
func (k *keeper) add(t table) error {
	if k.path == "" {
		return nil
	}
	t.machine = k.machine
	k.content = merge(k.content, []table{t})
	return k.write()
}

// end writes a page in which every section is new, without the old content.
func (k *keeper) end(content string) error {
	if k.path == "" {
		return nil
	}
	k.content = content
	return k.write()
}

// write replaces the file as a whole. After an interruption the file is the old one or the new one.
func (k *keeper) write() (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(k.path), filepath.Base(k.path)+".*")
	if err != nil {
		return fmt.Errorf("keep measurements in %s: %w", k.path, err)
	}
	_, err = temporary.WriteString(k.content)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), k.path)
	}
	if err != nil {
		return fmt.Errorf("keep measurements in %s: %w", k.path, errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}
