package inquiry

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// script is the name of a copy of the script that starts the container (yarn.nodemanager.log-container-debug-info.enabled).
// It has the whole environment, with options that may be secret: REST hides them in its answers.
const script = "launch_container.sh"

// list lists the files of a folder by name. Of more than msg.MaxListed files it lists the ones that were
// written last.
func list(dir string) ([]msg.FileDetails, error) {
	var files []msg.FileDetails
	err := eachFile(dir, func(info fs.FileInfo) bool {
		if files = append(files, detailsOf(info)); len(files) > 2*msg.MaxListed {
			files = newest(files)
		}
		return true
	})
	files = newest(files)
	slices.SortFunc(files, func(a, b msg.FileDetails) int { return strings.Compare(a.Name, b.Name) })
	return files, err
}

// newest returns at most msg.MaxListed files, the ones that were written last.
func newest(files []msg.FileDetails) []msg.FileDetails {
	slices.SortFunc(files, func(a, b msg.FileDetails) int { return b.Modified.Compare(a.Modified) })
	return files[:min(len(files), msg.MaxListed)]
}

// eachFile calls f with the plain files of a folder, until f returns false. User code may put any number of
// files there. It leaves out the script, and names that are no text: a message could not have them.
func eachFile(dir string, f func(fs.FileInfo) bool) error {
	if dir == "" {
		return nil
	}
	folder, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("list log files: %w", err)
	}
	defer folder.Close()
	for {
		entries, err := folder.ReadDir(msg.MaxListed)
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil || !info.Mode().IsRegular() || info.Name() == script || !utf8.ValidString(info.Name()) {
				continue // the first: it was removed meanwhile
			}
			if !f(info) {
				return nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("list log files: %w", err)
		}
	}
}

func detailsOf(info fs.FileInfo) msg.FileDetails {
	return msg.FileDetails{Name: info.Name(), Size: info.Size(), Modified: info.ModTime(), ID: fileID(info)}
}

// logPart reads a part of a log file. If the part is of a file that has another name now, it reads that one. If
// that file is gone, it begins at the beginning of the one that has its name.
func logPart(dir, name string, part msg.Part) (msg.InquiryAnswer, error) {
	file, err := open(dir, name)
	if part.ID != 0 && !hasID(file, part.ID) {
		moved, found := name, false
		failed := eachFile(dir, func(info fs.FileInfo) bool {
			moved, found = info.Name(), fileID(info) == part.ID
			return !found
		})
		switch {
		case failed != nil || !found:
			part.Offset = min(part.Offset, 0)
		default:
			if err == nil {
				_ = file.Close() // it was only looked at
			}
			file, err = open(dir, moved)
		}
	}
	if err != nil {
		return msg.InquiryAnswer{}, err
	}
	defer file.Close()
	return read(file, part)
}

func hasID(file *os.File, id uint64) bool {
	if file == nil {
		return false
	}
	info, err := file.Stat()
	return err == nil && fileID(info) == id
}

// open opens a plain file of a folder.
func open(dir, name string) (*os.File, error) {
	none := fmt.Errorf("%w: the process has no log file %.200q", msg.ErrNotShown, name)
	if dir == "" || name == "" || name == script || strings.ContainsAny(name, `/\`) {
		return nil, none
	}
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder of logs: %w", err)
	}
	defer folder.Close()
	info, err := folder.Lstat(name)
	if err != nil || !info.Mode().IsRegular() { // a pipe would block, and a link may lead to another folder
		return nil, none
	}
	file, err := folder.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open log file: %w", err)
	}
	if opened, err := file.Stat(); err != nil || !os.SameFile(info, opened) { // it was replaced in between
		return nil, errors.Join(none, file.Close())
	}
	return file, nil
}

// read reads a part of an open file.
func read(file *os.File, part msg.Part) (msg.InquiryAnswer, error) {
	info, err := file.Stat()
	if err != nil {
		return msg.InquiryAnswer{}, fmt.Errorf("read file: %w", err)
	}
	size, offset := info.Size(), part.Offset
	switch {
	case offset < 0:
		offset = max(size+offset, 0)
	case offset > size:
		offset = 0
	}
	length := part.Length
	if length <= 0 || length > msg.MaxPart {
		length = msg.MaxPart
	}
	content := make([]byte, min(int64(length), size-offset))
	n, err := file.ReadAt(content, offset)
	if err != nil && !errors.Is(err, io.EOF) { // at its end if it became shorter meanwhile
		return msg.InquiryAnswer{}, fmt.Errorf("read file: %w", err)
	}
	return msg.InquiryAnswer{File: detailsOf(info), Offset: offset, Content: content[:n]}, nil
}
