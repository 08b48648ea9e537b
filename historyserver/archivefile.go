package historyserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// errBroken says that an archive cannot be shown.
var errBroken = errors.New("the archive is broken")

const (
	// overviewPath is the path of a job's entry in the list of jobs.
	overviewPath = "/jobs/overview"
	// maxAnswer bounds one answer in an archive, in bytes. One about 10,000 subtasks has some 8 MB.
	maxAnswer = 32 << 20
	// maxAnswers bounds the answers of an archive. A job of 10,000 subtasks has 30,000.
	maxAnswers = 500_000
)

// readArchive passes the answers of the archive of a job to a function, one after the other (Flink's FsJobArchivist). It
// passes over answers about other jobs. Error: errBroken, and those of the function and of the reader.
func readArchive(r io.Reader, job ids.JobID, answer func(path string, text []byte) error) error {
	limited := &bounded{from: r, left: maxAnswer}
	decoder := json.NewDecoder(limited)
	broken := func(err error) error {
		if limited.err != nil { // the file cannot be read: that is no fault of the archive
			return limited.err
		}
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	for _, want := range []json.Token{json.Delim('{'), "archive", json.Delim('[')} {
		token, err := decoder.Token()
		if err == nil && token != want {
			err = fmt.Errorf("it has %v in the place of %v", token, want)
		}
		if err != nil {
			return broken(err)
		}
	}
	for n := 0; decoder.More(); n++ {
		limited.left = maxAnswer
		var archived struct {
			Path string `json:"path"`
			JSON string `json:"json"`
		}
		err := decoder.Decode(&archived)
		switch {
		case err != nil:
		case n >= maxAnswers:
			err = fmt.Errorf("it has more than %d answers", maxAnswers)
		case !json.Valid([]byte(archived.JSON)):
			err = fmt.Errorf("the answer to %.100q is no JSON", archived.Path)
		}
		if err != nil {
			return broken(err)
		}
		if own := "/jobs/" + string(job); archived.Path != overviewPath && archived.Path != own && !strings.HasPrefix(archived.Path, own+"/") {
			continue
		}
		if err := answer(archived.Path, []byte(archived.JSON)); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil { // the end of the list: a file that is cut off has none
		return broken(err)
	}
	return nil
}

// errTooLarge says that an archive, or an answer in it, has too many bytes.
var errTooLarge = errors.New("it has too many bytes")

// bounded reads so many bytes at most.
type bounded struct {
	from io.Reader
	left int64
	err  error // of from
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errTooLarge) {
		b.err = err
	}
	return n, err
}
