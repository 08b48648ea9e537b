// Package program reads what must be known of a user's program from its file, or
// as it passes by, without running it: that it is built with the SDK, for which
// protocol version and for which platform, and its content hash. It also brings a
// program that is staged to where it can be run.
package program

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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
	seen, absolute, err := look(path)
	if err != nil {
		return Program{}, err
	}
	program, err := seen.Program(filepath.Base(absolute), machine)
	if err != nil {
		return Program{}, fmt.Errorf("program %s: %w", path, err)
	}
	program.Path = absolute
	return program, nil
}

// InspectBobbin reads the file of bobbin itself, which the cluster runs too.
func InspectBobbin(path string, machine elf.Machine) (Program, error) {
	seen, absolute, err := look(path)
	if err == nil {
		if err = CheckPlatform(seen.head, machine); err != nil {
			err = fmt.Errorf("program %s: %w", path, err)
		}
	}
	if err != nil {
		return Program{}, err
	}
	program := seen.program(filepath.Base(absolute))
	program.Path = absolute
	return program, nil
}

// Native is the platform that this process runs on.
func Native() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
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

// look reads a file that can be started.
func look(path string) (seen *Inspection, absolute string, err error) {
	if absolute, err = Find(path); err != nil {
		return nil, "", err
	}
	file, err := os.Open(absolute)
	if err != nil {
		return nil, "", fmt.Errorf("program %s: %w", path, cause(err))
	}
	defer file.Close() // read only: nothing to lose
	seen = NewInspection()
	if _, err := io.Copy(seen, file); err != nil {
		return nil, "", fmt.Errorf("program %s: %w", path, cause(err))
	}
	return seen, absolute, nil
}

// cause drops the path that os puts into its errors: Inspect names it already.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// Inspection looks at a program as it passes by: write all of it, then ask for the
// Program. It holds no more than a few bytes.
type Inspection struct {
	hash hash.Hash
	mark markFinder
	head []byte // the file's first bytes
	size int64
}

// NewInspection makes an Inspection that has seen nothing.
func NewInspection() *Inspection { return &Inspection{hash: sha256.New()} }

// Write looks at the next bytes. It takes them all.
func (i *Inspection) Write(p []byte) (int, error) {
	i.head = append(i.head, p[:min(len(p), HeadSize-len(i.head))]...)
	i.size += int64(len(p))
	i.hash.Write(p) // never fails
	return i.mark.Write(p)
}

// Program describes what has passed, under a name and without a Path, if it is a
// program for the cluster: as Inspect.
func (i *Inspection) Program(name string, machine elf.Machine) (Program, error) {
	if err := CheckPlatform(i.head, machine); err != nil {
		return Program{}, err
	}
	switch i.mark.version {
	case jobgraph.ProtocolVersion:
		return i.program(name), nil
	case 0:
		return Program{}, fmt.Errorf("%w: its main must call bobbin.Main", ErrNotBuiltWithSDK)
	}
	return Program{}, fmt.Errorf("%w: the program has %d, this bobbin has %d; build both from the same release",
		ErrProtocolVersion, i.mark.version, jobgraph.ProtocolVersion)
}

func (i *Inspection) program(name string) Program {
	return Program{Name: name, Size: i.size, SHA256: hex.EncodeToString(i.hash.Sum(nil))}
}

// HeadSize is how much of an ELF file's header tells its platform, in bytes:
// e_ident, e_type and e_machine.
const HeadSize = 20

// CheckPlatform judges a program by the first HeadSize bytes of its file: ErrPlatform.
func CheckPlatform(head []byte, machine elf.Machine) error {
	if len(head) < HeadSize || string(head[:len(elf.ELFMAG)]) != elf.ELFMAG {
		return fmt.Errorf("%w: not a Linux executable; build it with GOOS=linux go build", ErrPlatform)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	if built := elf.Machine(order.Uint16(head[HeadSize-2:])); built != machine {
		return fmt.Errorf("%w: %s, the cluster runs %s: build it with GOARCH=%s", ErrPlatform, goarch(built), goarch(machine), goarch(machine))
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
