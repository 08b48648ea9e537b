package logs

import (
	"bytes"
	"io"
	"slices"
)

// isYARNs tells of a log whether YARN itself has written it (ContainerLaunch): how the container
// was launched, which hardly anybody wants to read before the log of what ran in it.
func isYARNs(name string) bool {
	switch name {
	case "directory.info", "launch_container.sh", "prelaunch.out", "prelaunch.err", "container-localizer-syslog":
		return true
	}
	return false
}

// yarnsLast puts YARN's own files behind the others.
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

// maxHeld bounds what is held back of a container's logs, in bytes: YARN's own files have some
// KB.
const maxHeld = 1 << 20

// held are logs that are visited after others which come behind them.
type held struct {
	logs    []Log
	content [][]byte
	bytes   int64
}

// take holds a log back, if it is one of YARN's and there is room for it.
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
