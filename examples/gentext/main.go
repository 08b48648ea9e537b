// Gentext writes text files for demos, tests and benchmarks. Their words are
// distributed as in natural language (Zipf). The same seed gives the same text.
//
//	gentext -size 200m -files 4 DIR
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gentext:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("gentext", flag.ExitOnError)
	size := flags.String("size", "10m", "total size in bytes, with k, m or g")
	files := flags.Int("files", 1, "number of files")
	seed := flags.Uint64("seed", 1, "seed of the text")
	if err := flags.Parse(args); err != nil {
		return err
	}
	total, err := parseSize(*size)
	if err != nil {
		return err
	}
	if flags.NArg() != 1 || *files < 1 {
		return errors.New("want one directory and at least one file: gentext -size 10m -files 4 DIR")
	}
	if err := os.MkdirAll(flags.Arg(0), 0o755); err != nil {
		return err
	}
	text := newText(*seed)
	for i := range *files {
		path := filepath.Join(flags.Arg(0), fmt.Sprintf("text-%02d.txt", i))
		if err := text.file(path, total/int64(*files)); err != nil {
			return err
		}
	}
	return nil
}

func parseSize(s string) (int64, error) {
	shift := 0
	switch {
	case strings.HasSuffix(s, "k"):
		shift = 10
	case strings.HasSuffix(s, "m"):
		shift = 20
	case strings.HasSuffix(s, "g"):
		shift = 30
	}
	if shift > 0 {
		s = s[:len(s)-1]
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("size %q: want a number with k, m or g, such as 200m", s)
	}
	return n << shift, nil
}

// text draws words from a vocabulary by Zipf's law.
type text struct {
	random     *rand.Rand
	zipf       *rand.Zipf
	vocabulary []string
}

const vocabularySize = 50_000

func newText(seed uint64) *text {
	random := rand.New(rand.NewPCG(seed, 0))
	t := &text{random: random, zipf: rand.NewZipf(random, 1.2, 4, vocabularySize-1)}
	seen := make(map[string]bool, vocabularySize)
	for len(t.vocabulary) < vocabularySize {
		if word := t.invent(1 + len(t.vocabulary)/8000); !seen[word] {
			seen[word] = true
			t.vocabulary = append(t.vocabulary, word)
		}
	}
	return t
}

// invent makes a pronounceable word of some syllables; frequent words are short.
func (t *text) invent(syllables int) string {
	const consonants, vowels = "bcdfghjklmnprstvwz", "aeiou"
	var word strings.Builder
	for range 1 + t.random.IntN(syllables+1) {
		word.WriteByte(consonants[t.random.IntN(len(consonants))])
		word.WriteByte(vowels[t.random.IntN(len(vowels))])
		if t.random.IntN(3) == 0 {
			word.WriteByte(consonants[t.random.IntN(len(consonants))])
		}
	}
	return word.String()
}

func (t *text) file(path string, size int64) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriterSize(file, 1<<20)
	for size > 0 {
		n, err := t.line(w)
		if err != nil {
			return err
		}
		size -= int64(n)
	}
	return w.Flush()
}

// line writes one sentence: a capital first, a full stop last.
func (t *text) line(w io.Writer) (int, error) {
	line := make([]byte, 0, 128)
	for i := range 6 + t.random.IntN(10) {
		if i > 0 {
			line = append(line, ' ')
		}
		line = append(line, t.vocabulary[t.zipf.Uint64()]...)
	}
	line[0] -= 'a' - 'A'
	return w.Write(append(line, '.', '\n'))
}
