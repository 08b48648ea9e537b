package main

import (
	"strconv"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Args are the arguments of the job.
type Args struct {
	Input, Output string // without an output the counts are printed
	Overwrite     bool
}

// WordCount counts how often each word occurs in text files.
var WordCount = dataflow.Job("wordcount-tuned", func(p *dataflow.Plan, a Args) error {
	lines := dataflow.ReadText(p, a.Input)
	words := dataflow.FlatMap(lines, eachWord, dataflow.Named("words"), dataflow.CountAs("words"))
	counts := dataflow.Count(dataflow.KeyBy(words, dataflow.Identity), dataflow.Named("count"), dataflow.CountAs("distinct"))
	switch {
	case a.Output == "":
		dataflow.Print(counts, tabSeparated)
	case a.Overwrite:
		dataflow.WriteText(counts, a.Output, tabSeparated, dataflow.Overwrite())
	default:
		dataflow.WriteText(counts, a.Output, tabSeparated)
	}
	return nil
})

// eachWord emits the words of a line: runs of ASCII letters, digits and "_", in
// lower case. In ASCII text these are the words of Flink's WordCount. eachWord changes
// the line in place, so that it allocates no memory for a word.
func eachWord(line []byte, emit func([]byte)) {
	start := 0
	for i, c := range line {
		lowered := wordBytes[c]
		if lowered != 0 {
			if lowered != c { // a word that was just written is slow to read
				line[i] = lowered
			}
			continue
		}
		if start < i {
			emit(line[start:i])
		}
		start = i + 1
	}
	if start < len(line) {
		emit(line[start:])
	}
}

// wordBytes maps each byte of a word to its lower-case form, and all other bytes
// to 0.
var wordBytes = func() (lowered [256]byte) {
	for c := range lowered {
		switch b := byte(c); {
		case '0' <= b && b <= '9', 'a' <= b && b <= 'z', b == '_':
			lowered[c] = b
		case 'A' <= b && b <= 'Z':
			lowered[c] = b - 'A' + 'a'
		}
	}
	return lowered
}()

// tabSeparated formats an output line: the word, a tab, its count.
func tabSeparated(dst []byte, count dataflow.KV[[]byte, int64]) []byte {
	dst = append(dst, count.Key...)
	dst = append(dst, '\t')
	return strconv.AppendInt(dst, count.Value, 10)
}
