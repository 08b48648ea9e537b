package historyserver

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sort"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// A pack has answers: those of the archive of one job, or the lists of all jobs. It is in the local folder. An answer is found without reading the others.
//
//	┌─────────────┬─ for each answer, by hash ──────────────────────────┬──────────────┐
//	│ all answers │ SHA-256 of the path │ offset uint64 │ length uint32 │ count uint32 │
//	│             │ (first 16 bytes)    │               │               │              │
//	└─────────────┴─────────────────────┴───────────────┴───────────────┴──────────────┘
const (
	hashSize  = 16
	entrySize = hashSize + 8 + 4
	countSize = 4
)

// packEntry is an entry of the index.
type packEntry struct {
	hash   [hashSize]byte
	offset int64
	length int
}

func hashOf(path string) (h [hashSize]byte) {
	sum := sha256.Sum256([]byte(path))
	copy(h[:], sum[:])
	return h
}

// packWriter writes the answers of a pack, one after the other.
type packWriter struct {
	out   *bufio.Writer
	index []packEntry
	at    int64
}

// begin begins the answer to a path, which Write continues.
func (w *packWriter) begin(path string) {
	w.index = append(w.index, packEntry{hash: hashOf(path), offset: w.at})
}

func (w *packWriter) Write(text []byte) (int, error) {
	n, err := w.out.Write(text)
	w.at += int64(n)
	w.index[len(w.index)-1].length += n
	return n, err
}

// end writes the index.
func (w *packWriter) end() error {
	slices.SortStableFunc(w.index, func(a, b packEntry) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	for _, e := range w.index {
		var entry [entrySize]byte
		copy(entry[:], e.hash[:])
		binary.BigEndian.PutUint64(entry[hashSize:], uint64(e.offset))
		binary.BigEndian.PutUint32(entry[hashSize+8:], uint32(e.length))
		if _, err := w.out.Write(entry[:]); err != nil {
			return err
		}
	}
	var count [countSize]byte
	binary.BigEndian.PutUint32(count[:], uint32(len(w.index)))
	_, err := w.out.Write(count[:])
	return errors.Join(err, w.out.Flush())
}

// createPack makes a pack in a new file. After an error there is no file.
func createPack(name string, fill func(*packWriter) error) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	w := &packWriter{out: bufio.NewWriter(file)}
	if err := fill(w); err != nil {
		return err
	}
	return w.end()
}

// writePack makes the pack of an archive in a new file, and returns the answer about the job in the list of jobs. Errors are
// those of readArchive, and of the disk.
func writePack(name string, archive io.Reader, job ids.JobID) (overview []byte, err error) {
	err = createPack(name, func(w *packWriter) error {
		return readArchive(archive, job, func(path string, text []byte) error {
			if path == overviewPath {
				overview = text
				return nil
			}
			w.begin(path)
			_, err := w.Write(text)
			return err
		})
	})
	return overview, err
}

// packed is an answer in a pack. The caller closes it.
type packed struct {
	*io.SectionReader
	io.Closer
}

// openPacked finds an answer. The error is fs.ErrNotExist if the pack has none.
func openPacked(name, path string) (_ packed, err error) {
	file, err := os.Open(name)
	if err != nil {
		return packed{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return packed{}, err
	}
	var count [countSize]byte
	if _, err := file.ReadAt(count[:], info.Size()-countSize); err != nil {
		return packed{}, err
	}
	n := int(binary.BigEndian.Uint32(count[:]))
	first := info.Size() - countSize - int64(n)*entrySize
	hash, entry := hashOf(path), [entrySize]byte{}
	i := sort.Search(n, func(i int) bool {
		_, reading := file.ReadAt(entry[:], first+int64(i)*entrySize)
		err = errors.Join(err, reading)
		return bytes.Compare(entry[:hashSize], hash[:]) >= 0
	})
	if err == nil && i < n {
		_, err = file.ReadAt(entry[:], first+int64(i)*entrySize)
	}
	if err != nil {
		return packed{}, err
	}
	if i == n || !bytes.Equal(entry[:hashSize], hash[:]) {
		return packed{}, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	offset, length := binary.BigEndian.Uint64(entry[hashSize:]), binary.BigEndian.Uint32(entry[hashSize+8:])
	return packed{io.NewSectionReader(file, int64(offset), int64(length)), file}, nil
}
