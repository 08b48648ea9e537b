package logs

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type found struct {
	Container, Name, Content string
	Size                     int64
}

// read returns all logs in the bytes of a file.
func read(file []byte) ([]found, error) {
	var all []found
	err := visitFile(bytes.NewReader(file), "node", func(l Log, content io.Reader) error {
		text, err := io.ReadAll(content)
		all = append(all, found{l.Container, l.Name, string(text), l.Size})
		return err
	})
	return all, err
}

// The logs of a container are in one value, whose chunks end anywhere. YARN's own records are no containers.
func TestLogsOfAllContainersAreFound(t *testing.T) {
	big := string(bytes.Repeat([]byte("line\n"), 1000))
	first := append(logOf("out", "hello\n"), logOf("empty", "")...)
	for _, codec := range []string{"none", "gz"} {
		t.Run(codec, func(t *testing.T) {
			got, err := read(fileOf(codec,
				recordOf("VERSION", 100, []byte{0, 0, 0, 1}),
				recordOf("container_1", 3, first),
				recordOf("APPLICATION_OWNER", 100, []byte("\x00\x05alice")),
				recordOf("container_2", 1000, logOf("big", big)),
			))
			if err != nil {
				t.Fatal(err)
			}
			want := []found{
				{"container_1", "out", "hello\n", 6}, {"container_1", "empty", "", 0}, {"container_2", "big", big, int64(len(big))},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Hadoop 3.4.3 wrote the files (AggregatedLogFormat.LogWriter), with and without compression. Tests with files
// that this package writes could agree on a mistake.
func TestHadoopsOwnFilesAreRead(t *testing.T) {
	var numbers bytes.Buffer
	for i := range 300 {
		fmt.Fprintln(&numbers, i+1)
	}
	want := []found{
		{"container_1700000000000_0001_01_000001", "jobmanager.log", "started\nended\n", 14},
		{"container_1700000000000_0001_01_000001", "jobmanager.stderr", "", 0},
		{"container_1700000000000_0001_01_000002", "taskmanager.log", numbers.String(), int64(numbers.Len())},
	}
	for _, file := range hadoopsFiles(t) {
		got, err := read(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func hadoopsFiles(t testing.TB) [][]byte {
	t.Helper()
	var files [][]byte
	for _, codec := range []string{"none", "gz"} {
		file, err := os.ReadFile(filepath.Join("testdata", "hadoop", codec+".tfile"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// TFile's integers are not those of WritableUtils. A reader with those would fail after the first large block.
func TestIntegersAreTFilesOwn(t *testing.T) {
	for want, encoded := range map[int64]string{
		0: "\x00", 127: "\x7f", -32: "\xe0",
		300: "\xcd\x2c", -300: "\xca\xd4",
		100_000:       "\xa9\x86\xa0",
		50_000_000:    "\x92\xfa\xf0\x80",
		1_000_000_000: "\x83\x3b\x9a\xca\x00",
		1 << 40:       "\x85\x01\x00\x00\x00\x00\x00",
		-(1 << 62):    "\x87\xc0\x00\x00\x00\x00\x00\x00\x00",
	} {
		d := decoder{r: bufio.NewReader(bytes.NewReader([]byte(encoded)))}
		if got := d.vlong(); got != want || d.err != nil {
			t.Errorf("%x is %d, %v; want %d", encoded, got, d.err, want)
		}
	}
}

func TestDamagedFilesAreRefused(t *testing.T) {
	whole := fileOf("none", recordOf("container_1", 100, logOf("out", "hello\n")))
	pointed := bytes.Clone(whole)
	binary.BigEndian.PutUint64(pointed[len(pointed)-trailerSize:], 1<<62)
	cut := logOf("out", "hello\n")
	for name, file := range map[string][]byte{
		"nothing":                          nil,
		"another kind of file":             bytes.Repeat([]byte("text\n"), 100),
		"an index behind the end":          pointed,
		"an index of too many entries":     enclose([]byte("\x85\x01\x00\x00\x00\x00\x00"), nil),
		"no index of blocks":               enclose([]byte{0}, nil),
		"a log that ends before its size":  fileOf("none", recordOf("container_1", 100, cut[:len(cut)-2])),
		"a value that ends inside a chunk": fileOf("none", recordOf("container_1", 100, logOf("out", "hello\n"))[:20]),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := read(file); !errors.Is(err, errFormat) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// FuzzTFile reads files from a directory to which other users can write.
func FuzzTFile(f *testing.F) {
	f.Add(fileOf("none", recordOf("container_1", 3, logOf("out", "hello\n"))))
	f.Add(fileOf("gz", recordOf("VERSION", 9, []byte{0, 0, 0, 1}), recordOf("container_1", 9, logOf("out", "hello\n"))))
	for _, file := range hadoopsFiles(f) {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := read(file)
		if err != nil {
			return
		}
		for _, l := range got {
			if int64(len(l.Content)) != l.Size {
				t.Errorf("%s of %s has %d bytes, not %d", l.Name, l.Container, len(l.Content), l.Size)
			}
		}
	})
}

// The functions below write such files, in the longest of the allowed forms.

func vlong(n int) []byte { return binary.BigEndian.AppendUint64([]byte{0x87}, uint64(n)) }

func text(s string) []byte { return append(vlong(len(s)), s...) }

func utf(s string) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(s))), s...) }

func logOf(name, content string) []byte {
	return bytes.Join([][]byte{utf(name), utf(strconv.Itoa(len(content))), []byte(content)}, nil)
}

// recordOf writes its value in chunks of this many bytes.
func recordOf(key string, chunk int, value []byte) []byte {
	record := append(vlong(len(utf(key))), utf(key)...)
	for len(value) > chunk {
		record = append(append(record, vlong(-chunk)...), value[:chunk]...)
		value = value[chunk:]
	}
	return append(append(record, vlong(len(value))...), value...)
}

func packed(codec string, content []byte) []byte {
	if codec == "none" {
		return content
	}
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(content); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// fileOf is a file with a block for each record.
func fileOf(codec string, records ...[]byte) []byte {
	body := magic()
	blocks := append(text(codec), vlong(len(records))...)
	for _, r := range records {
		stored := packed(codec, r)
		blocks = append(blocks, bytes.Join([][]byte{vlong(len(body)), vlong(len(stored)), vlong(len(r))}, nil)...)
		body = append(body, stored...)
	}
	stored := packed(codec, blocks)
	meta := bytes.Join([][]byte{vlong(1), text("data:BCFile.index"), text(codec), vlong(len(body)), vlong(len(stored)), vlong(len(blocks))}, nil)
	return enclose(meta, append(body, stored...))
}

// enclose appends a meta index and the trailer to a body.
func enclose(meta, body []byte) []byte {
	if len(body) == 0 {
		body = magic()
	}
	offset := len(body)
	file := binary.BigEndian.AppendUint64(append(body, meta...), uint64(offset))
	return append(binary.BigEndian.AppendUint32(file, 1), magic()...)
}
