package randomjobs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
)

// Input describes the files of a source.
type Input struct {
	Files int
	Lines int  // of all files together
	Keys  int  // 1 to maxKey: the number of different keys
	Skew  bool // most lines have the same key
	Text  int  // the longest text of a line, in bytes
	Gzip  bool // each third file is compressed
}

// records are the records of all files.
func (in *Input) records(salt uint64) []Record {
	random := rand.New(rand.NewPCG(salt, 0))
	records := make([]Record, in.Lines)
	for i := range records {
		r := &records[i]
		r.K = random.Int64N(int64(in.Keys)) - int64(in.Keys)/2
		if in.Skew && random.IntN(10) > 0 {
			r.K = 0
		}
		switch random.IntN(12) {
		case 0:
			r.N = math.MaxInt32 * random.Int64N(1000)
		case 1:
			r.N = 0
		default:
			r.N = random.Int64N(200) - 100
		}
		if in.Text > 0 {
			length := random.IntN(in.Text) + 1
			r.S = strings.Repeat("seed of text ", length/13+1)[random.IntN(13):]
			r.S = r.S[:min(len(r.S), length)]
		}
	}
	return records
}

// files returns the files of a source, by path.
func (in *Input) files(node int, salt uint64) map[string]string {
	files := make(map[string]string, in.Files)
	records := in.records(salt)
	for i := range in.Files {
		var b strings.Builder
		own := records[i*len(records)/in.Files : (i+1)*len(records)/in.Files]
		for line, r := range own {
			b.WriteString(r.text())
			switch {
			case line%7 == 3:
				b.WriteString("\r\n\n") // an empty line is no record
			case line < len(own)-1 || i%2 == 0:
				b.WriteString("\n")
			}
		}
		name, content := fmt.Sprintf("%s/part-%d", directory(node), i), b.String()
		if in.Gzip && i%3 == 2 {
			name, content = name+".gz", compressed(content)
		}
		files[name] = content
	}
	return files
}

func compressed(content string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(content)) // memory takes everything
	_ = w.Close()
	return b.String()
}

// directory holds the files of a source.
func directory(node int) string { return fmt.Sprintf("/in/%d", node) }

// Files returns the input of a job, by path.
func (j Job) Files() map[string]string {
	files := map[string]string{}
	for i, n := range j.Nodes {
		if n.Input != nil {
			maps.Copy(files, n.Input.files(i, n.Salt))
		}
	}
	return files
}
