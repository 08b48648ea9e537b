package logs

import (
	"bytes"
	"io"
	"slices"
)

// isYARNs tells whether YARN itself has written a log (ContainerLaunch). Such a log says how the container was
// launched, and few users want to read it before the log of the process.
func isYARNs(name string) bool {
	switch name {
	case "directory.info", "launch_container.sh", "prelaunch.out", "prelaunch.err", "container-localizer-syslog":
		return true
	}
	return false
}

// yarnsLast puts YARN's own files after the others.
func yarnsLast(files []fileSize) []fileSize {
	rank := func(f fileSize) int {
		if isYARNs(f.name) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(files, func(a, b fileSize) int { return rank(a) - rank(b) })
	return files
}

// maxHeld bounds the held logs of a container, in bytes. YARN's own files have a few KB.
const maxHeld = 1 << 20

// held are logs that are visited after the logs that follow them.
type held struct {
	logs    []Log
	content [][]byte
	bytes   int64
}

// take holds a log if YARN wrote it and there is room for it.
func (h *held) take(l Log, content io.Reader) (taken bool, err error) {
	if !isYARNs(l.Name) || l.Size < 0 || h.bytes+l.Size > maxHeld {
		return false, nil
	}
	text, err := io.ReadAll(content)
	h.logs, h.content, h.bytes = append(h.logs, l), append(h.content, text), h.bytes+l.Size
	return true, err
}

func (h *held) visit(visit Visit) error {
	for i, l := range h.logs {
		if err := visit(l, bytes.NewReader(h.content[i])); err != nil {
			return err
		}
	}
	return nil
}
