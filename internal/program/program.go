// Package program reads what the client must know of a user's program from its
// file, without running it: that it is built with the SDK, for which protocol
// version and for which platform, and its content hash.
package program

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Errors that callers test with errors.Is.
var (
	// ErrNotBuiltWithSDK says that the file does not carry the SDK's mark.
	ErrNotBuiltWithSDK = errors.New("not built with the Bobbin SDK")
	// ErrPlatform says that the file does not run on the cluster's platform.
	ErrPlatform = errors.New("built for another platform")
	// ErrProtocolVersion says that program and client were built from versions
	// that do not understand each other.
	ErrProtocolVersion = errors.New("built with another protocol version")
)

// Program is a program that may be submitted.
type Program struct {
	Path   string // absolute
	Name   string // base name
	Size   int64
	SHA256 string // lower-case hex
}

// The mark that the SDK puts into every program is markStart, the protocol
// version in digits, and markEnd. Bobbin's own binary holds the first part with
// no version behind it, so it is not taken for a program.
const (
	markStart        = "<bobbin sdk protocol version="
	markEnd          = ">"
	maxVersionDigits = 9
)

// Inspect reads the file and checks that it is a program for the cluster:
// built with the SDK, this protocol version, linux on the architecture
// machine. Errors name the file and the remedy.
func Inspect(path string, machine elf.Machine) (Program, error) {
	program, version, err := inspect(path, machine)
	switch {
	case err != nil:
		return Program{}, err
	case version == 0:
		return Program{}, fmt.Errorf("program %s: %w: its main must call bobbin.Main", path, ErrNotBuiltWithSDK)
	case version != jobgraph.ProtocolVersion:
		return Program{}, fmt.Errorf("program %s: %w: the program has %d, this bobbin has %d; build both from the same release",
			path, ErrProtocolVersion, version, jobgraph.ProtocolVersion)
	}
	return program, nil
}

// InspectBobbin reads the file of bobbin itself, which the cluster runs too.
func InspectBobbin(path string, machine elf.Machine) (Program, error) {
	program, _, err := inspect(path, machine)
	return program, err
}

// Find gives the absolute path of a program that can be started. Errors name the
// file and the remedy.
func Find(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("program %s: %w", path, err)
	}
	info, err := os.Stat(absolute)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.Base(path) == path:
		return "", fmt.Errorf("program %s: %w in this directory: name its file with the path", path, cause(err))
	case err != nil:
		return "", fmt.Errorf("program %s: %w: build it, or correct the path", path, cause(err))
	case info.IsDir():
		return "", fmt.Errorf("program %s is a directory: name the program's executable file", path)
	case info.Mode()&0o111 == 0:
		return "", fmt.Errorf("program %s is not executable: build it with go build, or chmod +x", path)
	}
	return absolute, nil
}

// inspect gives the protocol version of the SDK in the file, 0 where there is
// none.
func inspect(path string, machine elf.Machine) (_ Program, version int, _ error) {
	absolute, err := Find(path)
	if err != nil {
		return Program{}, 0, err
	}
	file, err := os.Open(absolute)
	if err != nil {
		return Program{}, 0, fmt.Errorf("program %s: %w", path, cause(err))
	}
	defer file.Close() // read only: nothing to lose
	if err := checkPlatform(file, machine); err != nil {
		return Program{}, 0, fmt.Errorf("program %s: %w", path, err)
	}
	version, sum, size, err := scan(file)
	if err != nil {
		return Program{}, 0, fmt.Errorf("program %s: %w", path, err)
	}
	return Program{Path: absolute, Name: filepath.Base(absolute), Size: size, SHA256: sum}, version, nil
}

// cause drops the path that os puts into its errors: Inspect names it already.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

func checkPlatform(file io.ReaderAt, machine elf.Machine) error {
	binary, err := elf.NewFile(file)
	if err != nil {
		return fmt.Errorf("%w: not a Linux executable; build it with GOOS=linux go build", ErrPlatform)
	}
	if binary.Machine != machine {
		return fmt.Errorf("%w: %s, the cluster runs %s: build it with GOARCH=%s", ErrPlatform, goarch(binary.Machine), goarch(machine), goarch(machine))
	}
	return nil
}

// goarch is Go's name of a platform's architecture, where it has one.
func goarch(machine elf.Machine) string {
	switch machine {
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_AARCH64:
		return "arm64"
	default:
		return machine.String()
	}
}

// scan reads the file once, for its hash and for the SDK's mark.
func scan(file io.ReadSeeker) (version int, sum string, size int64, err error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return 0, "", 0, err
	}
	hash := sha256.New()
	mark := new(markFinder)
	size, err = io.Copy(io.MultiWriter(hash, mark), file)
	return mark.version, hex.EncodeToString(hash.Sum(nil)), size, err
}

// markFinder looks for the mark in a stream of chunks; a mark may lie across
// two of them.
type markFinder struct {
	window  []byte // the last chunk, and before it the tail of those before
	version int
}

func (m *markFinder) Write(chunk []byte) (int, error) {
	if m.version != 0 {
		return len(chunk), nil
	}
	m.window = append(m.window, chunk...)
	m.version = find(m.window, []byte(markStart))
	keep := len(markStart) + maxVersionDigits + len(markEnd)
	m.window = append(m.window[:0], m.window[max(0, len(m.window)-keep):]...)
	return len(chunk), nil
}

func find(data, start []byte) int {
	for {
		i := bytes.Index(data, start)
		if i < 0 {
			return 0
		}
		data = data[i+len(start):]
		end := bytes.Index(data[:min(len(data), maxVersionDigits+1)], []byte(markEnd))
		if end <= 0 {
			continue
		}
		if version, err := strconv.ParseUint(string(data[:end]), 10, 31); err == nil && version > 0 {
			return int(version)
		}
	}
}
