package logging

import (
	"errors"
	"io"
	"sync"

	"github.com/sirupsen/logrus"
)

// Output takes the output of a child process: it keeps it in two rotated files, and its end in a Tail.
// Open it with OpenOutput.
type Output struct {
	Tail
	Stdout, Stderr io.Writer
	files          []*File
}

// OpenOutput opens the files of a process's output in a directory, which must exist: name with each
// suffix. A file that cannot be written is logged once, and otherwise ignored: an error would close the
// process's pipe, and this would end the process.
func OpenOutput(dir, name string, stdout, stderr string, logger logrus.FieldLogger) (*Output, error) {
	o := new(Output)
	var writers []io.Writer
	for _, suffix := range []string{stdout, stderr} {
		file, err := OpenFile(dir, name+suffix)
		if err != nil {
			return nil, errors.Join(err, o.Close())
		}
		o.files = append(o.files, file)
		writers = append(writers, io.MultiWriter(o.Source(), &patient{file: file, logger: logger}))
	}
	o.Stdout, o.Stderr = writers[0], writers[1]
	return o, nil
}

// Close closes the files. The Tail stays.
func (o *Output) Close() error {
	var faults []error
	for _, file := range o.files {
		faults = append(faults, file.Close())
	}
	return errors.Join(faults...)
}

// patient ignores write errors, after it has logged the first.
type patient struct {
	file   io.Writer
	logger logrus.FieldLogger
	once   sync.Once
}

func (p *patient) Write(b []byte) (int, error) {
	if _, err := p.file.Write(b); err != nil {
		p.once.Do(func() { p.logger.WithError(err).Error("output of the process cannot be written") })
	}
	return len(b), nil
}
