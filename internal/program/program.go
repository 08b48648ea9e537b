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
	"unicode"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Errors that callers test with errors.Is.
var (
	// ErrNotBuiltWithSDK says that the file does not carry the SDK's mark.
	ErrNotBuiltWithSDK = errors.New("not built with the Bobbin SDK")
	// ErrNoProgram says that the file is no executable of any platform.
	ErrNoProgram = errors.New("not a program")
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

// InspectOwn gives the absolute path of a program that this machine is to run: built with the
// SDK and this protocol version, for whatever platform this process runs on. Errors name the
// file and the remedy.
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

// locate gives the absolute path of a file that can be started. Errors name the file and the
// remedy.
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

// look reads a file that can be started.
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
	err := CheckPlatform(i.head, machine)
	if err == nil {
		err = i.checkMark()
	}
	if err != nil {
		return Program{}, err
	}
	return i.program(name), nil
}

// checkMark judges what has passed by the SDK's mark.
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

// HeadSize is how much of an ELF file's header tells its platform, in bytes:
// e_ident, e_type and e_machine.
const HeadSize = 20

// CheckPlatform judges a program by the first HeadSize bytes of its file: ErrPlatform,
// ErrNoProgram.
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

// kindOf tells by the first bytes of a file that it is no executable, where it is of a kind
// that people take for one.
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

// checkKind is kindOf a file.
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
