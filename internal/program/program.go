// Package program inspects a user's program without running it, in its file or while it passes as a
// stream. It finds whether the program is built with the SDK, its protocol version, its platform
// and its content hash. It also fetches a staged program.
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
	"unicode"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Errors that callers test with errors.Is.
var (
	// ErrNotBuiltWithSDK says that the file does not contain the SDK's mark.
	ErrNotBuiltWithSDK = errors.New("not built with the Bobbin SDK")
	// ErrNoProgram says that the file is not an executable of any platform.
	ErrNoProgram = errors.New("not a program")
	// ErrPlatform says that the file does not run on the cluster's platform.
	ErrPlatform = errors.New("built for another platform")
	// ErrProtocolVersion says that program and client were built from releases with different
	// protocol versions.
	ErrProtocolVersion = errors.New("built with another protocol version")
)

// Program is a program that can be submitted.
type Program struct {
	Path   string // absolute
	Name   string // base name
	Size   int64
	SHA256 string // lower-case hex
}

// The SDK's mark in every program is markStart, the protocol version in digits, and markEnd.
// bobbin's own binary contains markStart without a version after it, so it does not count as a
// program.
const (
	markStart        = "<bobbin sdk protocol version="
	markEnd          = ">"
	maxVersionDigits = 9
)

// Inspect reads the file and checks that it is a program for the cluster: built with the SDK, with
// this protocol version, for Linux on the architecture machine. Errors name the file and the
// remedy.
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

// InspectOwn returns the absolute path of a program that will run on this machine. It checks that
// the program is built with the SDK and this protocol version, for the platform of this process.
// Errors name the file and the remedy.
func InspectOwn(path string) (string, error) {
	seen, absolute, err := look(path)
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "linux" && bytes.HasPrefix(seen.head, []byte(elf.ELFMAG)) {
		if err = CheckPlatform(seen.head, Native()); err != nil {
			err = fmt.Errorf("%w than %s/%s", ErrPlatform, runtime.GOOS, runtime.GOARCH)
		}
	}
	if err == nil {
		err = seen.checkMark()
	}
	if err != nil {
		return "", fmt.Errorf("program %s: %w", path, err)
	}
	return absolute, nil
}

// InspectBobbin inspects the file of bobbin itself, which also runs in the cluster.
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

// Native returns the architecture of this process.
func Native() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

// locate returns the absolute path of an executable file. Errors name the file and the remedy.
func locate(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("program %s: %w", path, err)
	}
	info, err := os.Stat(absolute)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.Base(path) == path:
		return "", fmt.Errorf("program %s: %w in this directory, and bobbin does not search PATH; give the path of the file", path, cause(err))
	case err != nil:
		return "", fmt.Errorf("program %s: %w: build it, or correct the path", path, cause(err))
	case info.IsDir():
		return "", fmt.Errorf("program %s is a directory: name the program's executable file", path)
	case info.Mode()&0o111 == 0:
		if err := checkKind(absolute); err != nil {
			return "", fmt.Errorf("program %s: %w", path, err)
		}
		return "", fmt.Errorf("program %s is not executable: build it with go build, or run chmod +x", path)
	}
	return absolute, nil
}

// look inspects an executable file.
func look(path string) (seen *Inspection, absolute string, err error) {
	if absolute, err = locate(path); err != nil {
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

// cause drops the path that os puts into its errors, because Inspect names it already.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// Inspection inspects a program as a stream: write all of it, then call Program. It holds only a
// few bytes.
type Inspection struct {
	hash hash.Hash
	mark markFinder
	head []byte // the file's first bytes
	size int64
}

// NewInspection makes an empty Inspection.
func NewInspection() *Inspection { return &Inspection{hash: sha256.New()} }

// Write inspects the next bytes. It takes all of them.
func (i *Inspection) Write(p []byte) (int, error) {
	i.head = append(i.head, p[:min(len(p), HeadSize-len(i.head))]...)
	i.size += int64(len(p))
	i.hash.Write(p) // never fails
	return i.mark.Write(p)
}

// Program describes the inspected file under a name, without a Path, if it is a program for the
// cluster. Its checks are those of Inspect.
func (i *Inspection) Program(name string, machine elf.Machine) (Program, error) {
	err := CheckPlatform(i.head, machine)
	if err == nil {
		err = i.checkMark()
	}
	if err != nil {
		return Program{}, err
	}
	return i.program(name), nil
}

// checkMark checks the SDK's mark.
func (i *Inspection) checkMark() error {
	switch i.mark.version {
	case jobgraph.ProtocolVersion:
		return nil
	case 0:
		if err := kindOf(i.head); err != nil {
			return err
		}
		return fmt.Errorf("%w: its main must call bobbin.Main", ErrNotBuiltWithSDK)
	}
	return fmt.Errorf("%w: the program has %d, this bobbin has %d; build both from the same release",
		ErrProtocolVersion, i.mark.version, jobgraph.ProtocolVersion)
}

func (i *Inspection) program(name string) Program {
	return Program{Name: name, Size: i.size, SHA256: hex.EncodeToString(i.hash.Sum(nil))}
}

// HeadSize is the length of the part of an ELF header that names the platform, in bytes: e_ident,
// e_type and e_machine.
const HeadSize = 20

// CheckPlatform checks a program's platform by the first HeadSize bytes of its file. The error is
// ErrPlatform or ErrNoProgram.
func CheckPlatform(head []byte, machine elf.Machine) error {
	if err := kindOf(head); err != nil {
		return err
	}
	if len(head) < HeadSize || string(head[:len(elf.ELFMAG)]) != elf.ELFMAG {
		return fmt.Errorf("%w: not a Linux executable; build it with GOOS=linux go build", ErrPlatform)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	if built := elf.Machine(order.Uint16(head[HeadSize-2:])); built != machine {
		return fmt.Errorf("%w: it is for %s, and the cluster runs %s; build it with GOARCH=%s", ErrPlatform, goarch(built), goarch(machine), goarch(machine))
	}
	return nil
}

// kindOf returns an error if the first bytes show that a file is of a kind that users mistake for a
// program.
func kindOf(head []byte) error {
	const wanted = "a program is one executable file, which go build makes from a main that calls bobbin.Main"
	switch {
	case len(head) == 0:
		return fmt.Errorf("%w: the file is empty; %s", ErrNoProgram, wanted)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return fmt.Errorf("%w: it is a jar or another archive, and Bobbin has no JVM; %s", ErrNoProgram, wanted)
	case bytes.IndexFunc(head, func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) && !unicode.IsSpace(r) }) < 0:
		return fmt.Errorf("%w: it is a text file; %s", ErrNoProgram, wanted)
	}
	return nil
}

// checkKind calls kindOf for a file.
func checkKind(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return cause(err)
	}
	defer file.Close() // read only: nothing to lose
	head := make([]byte, HeadSize)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return cause(err)
	}
	return kindOf(head[:n])
}

// goarch returns Go's name of an architecture, or ELF's name if Go has none.
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

// markFinder looks for the mark in a stream of chunks. Two chunks may share a mark.
type markFinder struct {
	window  []byte // the tail of earlier chunks, and the last chunk
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
