package programs

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"hash"
	"io"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
)

// kind is what a Store keeps: programs or cached files.
type kind struct {
	name                          string // for messages
	notFound, bad, inUse, tooMany error
	// keep is how long one without jobs is held at least after it was last needed. The time in which uploads
	// run does not count. 0: as long as there is room.
	keep time.Duration
	// inspect begins to read one.
	inspect func() inspection
}

// inspection reads one as a stream.
type inspection interface {
	io.Writer
	// verdict returns the SHA-256 in lower-case hex, or says why the session cannot use it.
	verdict(name string) (sum string, err error)
}

func programKind(machine elf.Machine) kind {
	return kind{
		name:     "program",
		notFound: msg.ErrProgramNotFound, bad: msg.ErrBadProgram, inUse: msg.ErrProgramInUse, tooMany: msg.ErrTooManyPrograms,
		inspect: func() inspection { return programInspection{program.NewInspection(), machine} },
	}
}

type programInspection struct {
	*program.Inspection
	machine elf.Machine
}

func (i programInspection) verdict(name string) (string, error) {
	p, err := i.Program(name, i.machine)
	return p.SHA256, err
}

// fileKeep is how long a session keeps a file without a job. Its job must come in this time after the upload.
// Files may be large, so they are not kept for later jobs as programs are.
const fileKeep = 10 * time.Minute

func fileKind() kind {
	return kind{
		name:     "file",
		notFound: msg.ErrFileNotFound, bad: msg.ErrBadFile, inUse: msg.ErrFileInUse, tooMany: msg.ErrTooManyFiles,
		keep:    fileKeep,
		inspect: func() inspection { return fileInspection{sha256.New()} },
	}
}

type fileInspection struct{ hash.Hash }

func (i fileInspection) verdict(string) (string, error) { return hex.EncodeToString(i.Sum(nil)), nil }
