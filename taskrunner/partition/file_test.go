package partition

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// write writes records[i] to subpartition to[i].
func write(c Config, to []int, records [][]byte) (Written, error) {
	w, err := Create(c)
	if err != nil {
		return Written{}, err
	}
	for i, r := range records {
		if err := w.Append(to[i], r); err != nil {
			return Written{}, errors.Join(err, w.Abort())
		}
	}
	return w.Finish()
}

// read gives the records of a subpartition.
func read(f *File, subpartition int) (records [][]byte, err error) {
	c, err := f.Cursor(subpartition)
	if err != nil {
		return nil, err
	}
	var all []byte
	var room Room
	into := make([]byte, MaxBlock)
	for {
		n, err := f.Read(&c, into, &room)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, errors.New("a read without records")
		}
		all = append(all, into[:n]...)
	}
	for len(all) > 0 {
		length, size := binary.Uvarint(all)
		if size <= 0 || uint64(len(all)-size) < length {
			return nil, fmt.Errorf("record of %d bytes has only %d", length, len(all)-size)
		}
		records = append(records, all[size:size+int(length)])
		all = all[size+int(length):]
	}
	return records, nil
}

// readAll reads a file to its end.
func readAll(path string) (all [][][]byte, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for s := range f.Subpartitions() {
		records, err := read(f, s)
		if err != nil {
			return nil, err
		}
		all = append(all, records)
	}
	return all, nil
}

// TestFilesKeepRecordsInOrder would catch records that are lost, doubled, cut, mixed up or out of order, whatever their sizes, with
// memory for one page of them.
func TestFilesKeepRecordsInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	rapid.Check(t, func(t *rapid.T) {
		c := Config{
			Path: path, Subpartitions: rapid.IntRange(1, 20).Draw(t, "subpartitions"),
			Memory: rapid.SampledFrom([]int{0, 100 << 10, 1 << 20}).Draw(t, "memory"), Compress: rapid.Bool().Draw(t, "compress"),
		}
		sizes := rapid.OneOf(rapid.IntRange(0, 10), rapid.IntRange(0, 1000), rapid.IntRange(MaxBlock-10, MaxBlock+10), rapid.IntRange(0, 200_000))
		model := make([][][]byte, c.Subpartitions)
		var to []int
		var records [][]byte
		for i := range rapid.IntRange(0, 300).Draw(t, "records") {
			s := rapid.IntRange(0, c.Subpartitions-1).Draw(t, "subpartition")
			r := bytes.Repeat([]byte{byte(i), byte(i >> 8), 3}, sizes.Draw(t, "size")/3+1)
			to, records, model[s] = append(to, s), append(records, r), append(model[s], r)
		}
		written, err := write(c, to, records)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != written.Bytes || written.Records != int64(len(records)) {
			t.Fatalf("wrote %+v, want %d records; the file is %v, %v", written, len(records), info.Size(), err)
		}
		got, err := readAll(path)
		if err != nil {
			t.Fatal(err)
		}
		for s := range model {
			if len(got[s]) != len(model[s]) {
				t.Fatalf("subpartition %d has %d records, want %d", s, len(got[s]), len(model[s]))
			}
			for i := range model[s] {
				if !bytes.Equal(got[s][i], model[s][i]) {
					t.Fatalf("subpartition %d: record %d has %d bytes, or others than were written", s, i, len(got[s][i]))
				}
			}
		}
	})
}

// small writes a file of some regions with compressed and plain blocks.
func small(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p")
	var to []int
	var records [][]byte
	for i := range 40 {
		to = append(to, i%3)
		records = append(records, []byte(strings.Repeat(fmt.Sprint(i), 60)), binary.BigEndian.AppendUint64(nil, checkOf(int64(i), nil)))
		to = append(to, i%2)
	}
	if _, err := write(Config{Path: path, Subpartitions: 4, Compress: true}, to, records); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEveryWrongByteIsFound would catch a part of the file that no checksum covers: a damaged file must never give a wrong result.
func TestEveryWrongByteIsFound(t *testing.T) {
	path := small(t)
	intact, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(path); err != nil {
		t.Fatal(err)
	}
	broken := func(what string, at int) {
		t.Helper()
		if _, err := readAll(path); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s %d of %d: %v, want ErrCorrupt with the file's name", what, at, len(intact), err)
		}
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	put := func(b byte, at int) {
		if _, err := file.WriteAt([]byte{b}, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	for at, b := range intact {
		put(b^1<<(at%8), at)
		broken("wrong byte", at)
		put(b, at)
	}
	for _, at := range []int{len(intact) - 1, len(intact) / 2, footerSize, 1, 0} {
		if err := file.Truncate(int64(at)); err != nil {
			t.Fatal(err)
		}
		broken("cut at", at)
	}
}

// faulty fails each second read of a file.
type faulty struct {
	disk

	reads int
}

func (f *faulty) ReadAt(p []byte, at int64) (int, error) {
	if f.reads++; f.reads%2 == 0 {
		return 0, syscall.EIO
	}
	return f.disk.ReadAt(p, at)
}

// TestAReadMayBeRepeated would catch records that are lost when a read fails behind some that it has read, and is tried again.
func TestAReadMayBeRepeated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	want := make([][]byte, 100) // in some ten regions, of which a buffer has room for some
	for i := range want {
		want[i] = bytes.Repeat([]byte{byte(i)}, 3000)
	}
	if _, err := write(Config{Path: path, Subpartitions: 2}, make([]int, len(want)), want); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := f.Cursor(0)
	if err != nil {
		t.Fatal(err)
	}
	disk := f.file
	var got, into []byte = nil, make([]byte, 4*MaxBlock)
	var room Room
	faults := 0
	for !c.Done() {
		f.file = &faulty{disk: disk}
		n, err := f.Read(&c, into, &room)
		if errors.Is(err, syscall.EIO) {
			faults++
			f.file = disk
			n, err = f.Read(&c, into, &room)
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, into[:n]...)
	}
	if n := len(want) * (2 + 3000); len(got) != n || faults == 0 {
		t.Errorf("%d bytes are read after %d faults, want %d", len(got), faults, n)
	}
}

// counted counts the reads of a file.
type counted struct {
	disk

	reads int
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	c.reads++
	return c.disk.ReadAt(p, at)
}

// TestReadsAreInProportionToTheRecords would catch a reader that looks at all regions to find those of its subpartition: the consumer of
// the last few records then waits for as many reads as the file has regions.
func TestReadsAreInProportionToTheRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	var to []int
	var records [][]byte
	for i := range 5000 { // the least memory has room for some 10; subpartition 1 has records only at the ends
		s := 0
		if i == 0 || i > 4990 {
			s = 1
		}
		to, records = append(to, s), append(records, make([]byte, 3000))
	}
	if _, err := write(Config{Path: path, Subpartitions: 3}, to, records); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := &counted{disk: f.file}
	f.file = c
	for s, most := range []int{1500, 8, 1} { // the place in the table, and for each region a place and its blocks
		c.reads = 0
		if _, err := read(f, s); err != nil || c.reads > most {
			t.Errorf("subpartition %d takes %d reads, want at most %d: %v", s, c.reads, most, err)
		}
	}
}

// TestIndexesLargerThanTheirBuffer would catch places that are not linked where an index does not fit into one read.
func TestIndexesLargerThanTheirBuffer(t *testing.T) {
	const subpartitions, rounds = outBytes/entrySize + 1000, 3
	path := filepath.Join(t.TempDir(), "p")
	var to []int
	var records [][]byte
	for i := range rounds * subpartitions {
		to, records = append(to, i%subpartitions), append(records, binary.BigEndian.AppendUint32(nil, uint32(i)))
	}
	if _, err := write(Config{Path: path, Subpartitions: subpartitions, Memory: 8 * pageSize}, to, records); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(path)
	if err != nil {
		t.Fatal(err)
	}
	for s := range subpartitions {
		for round, r := range got[s] {
			if len(got[s]) != rounds || int(binary.BigEndian.Uint32(r)) != round*subpartitions+s {
				t.Fatalf("subpartition %d has %d records, and record %d is % x", s, len(got[s]), round, r)
			}
		}
	}
}

// TestFilesThatCannotBeWritten would catch an error without the directory and the remedy, and a file that Abort leaves.
func TestFilesThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "disk", "partitions", "host")
	if _, err := Create(Config{Path: filepath.Join(dir, "p"), Subpartitions: 2}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Errorf("created in a directory that does not exist: %v", err)
	}
	w, err := Create(Config{Path: filepath.Join(t.TempDir(), "p"), Subpartitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(0, make([]byte, MaxRecord+1)); !errors.Is(err, ErrRecordTooLarge) {
		t.Errorf("wrote a record that is too large: %v", err)
	}
	for range 2 {
		if err := w.Abort(); err != nil {
			t.Errorf("aborted: %v", err)
		}
	}
	if _, err := Open(w.config.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opened an aborted file: %v", err)
	}
}

// TestOnlyFilesAreOpened would catch code of a job that stops a disk of the worker for all jobs: the open of a named pipe waits for ever.
func TestOnlyFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	good, pipe := filepath.Join(dir, "good"), filepath.Join(dir, "pipe")
	if _, err := write(Config{Path: good, Subpartitions: 1}, []int{0}, [][]byte{{1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	paths := []string{dir, pipe}
	for _, to := range []string{good, pipe} {
		link := to + "-link"
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, link)
	}
	for _, path := range paths {
		if _, err := Open(path); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("opened %s: %v", path, err)
		}
	}
}

// TestRemovedDirectoriesAreMadeAgain would catch a worker that can write no partitions any more, because something has removed
// the directories that the worker had made on its only disk.
func TestRemovedDirectoriesAreMadeAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "partitions", "host", "p")
	w, err := Create(Config{Path: path, Subpartitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(path); err != nil {
		t.Error(err)
	}
}

// TestFullDiskNamesTheRemedy would catch an error that does not say what to do.
func TestFullDiskNamesTheRemedy(t *testing.T) {
	w, err := Create(Config{Path: "/dev/full", Subpartitions: 2}) // Linux: each write fails with ENOSPC
	if err != nil {
		t.Fatal(err)
	}
	err = w.Append(0, make([]byte, 1<<20))
	if err == nil {
		_, err = w.Finish()
	}
	if err == nil || !strings.Contains(err.Error(), "/dev") || !strings.Contains(err.Error(), "free space") {
		t.Errorf("wrote to a full disk: %v", err)
	}
}

// FuzzFile would catch a file that makes its reader panic, loop, or use memory by what the file announces.
func FuzzFile(f *testing.F) {
	intact, err := os.ReadFile(small(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(intact)
	f.Add(intact[len(intact)/2:])
	f.Add(make([]byte, footerSize))
	path := filepath.Join(f.TempDir(), "fuzzed")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if all, err := readAll(path); err == nil && len(all) == 0 {
			t.Error("a file without subpartitions is accepted")
		}
	})
}

// FuzzPlaces would catch numbers in a footer, an index or a block that their decoders accept, but that lie outside. It makes their
// checksums right, which a fuzzer cannot.
func FuzzPlaces(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef01234567"), int64(100))
	f.Add(bytes.Repeat([]byte{0xff}, 60), int64(1<<40))
	f.Add(make([]byte, 60), int64(0))
	f.Fuzz(func(t *testing.T, b []byte, at int64) {
		sealed := func(size int) []byte {
			fields := make([]byte, size-8)
			copy(fields, b)
			return binary.BigEndian.AppendUint64(fields, checkOf(at, fields))
		}
		if r, err := parseRun(sealed(entrySize), at); err == nil && (r.offset < 0 || r.offset+int64(r.stored) > at || r.next != 0 && r.next <= at) {
			t.Errorf("run %+v at %d", r, at)
		}
		raw := sealed(footerSize)
		copy(raw, magic)
		raw = binary.BigEndian.AppendUint64(raw[:footerSize-8], checkOf(at, raw[:footerSize-8]))
		if foot, err := parseFooter(raw, at); err == nil && (foot.table < 0 || foot.table > at) {
			t.Errorf("footer %+v at %d", foot, at)
		}
		if len(b) < blockHeader {
			return
		}
		block := bytes.Clone(b)
		stored := min(int(binary.BigEndian.Uint32(b[8:])), len(b)-blockHeader)
		binary.BigEndian.PutUint64(block, checkOf(at, block[8:blockHeader+stored]))
		if payload, length, err := parseBlock(block, at); err == nil && (len(payload) > length || length > MaxBlock) {
			t.Errorf("block of %d bytes stored in %d", length, len(payload))
		}
	})
}
