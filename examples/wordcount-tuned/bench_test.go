package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/dataflow/operator/broker"
)

// BenchmarkHotPath reads lines, finds words and combines them, like one source
// subtask on one core. It drops the records for the exchange.
func BenchmarkHotPath(b *testing.B) {
	for _, vocabulary := range []int{1_000, 50_000, 1_000_000} {
		b.Run(fmt.Sprintf("%d words", vocabulary), func(b *testing.B) {
			text := zipfText(64<<20, vocabulary)
			files := dataflowtest.NewFiles(map[string]string{"/in": string(text)})
			args, err := json.Marshal(Args{Input: "/in"})
			if err != nil {
				b.Fatal(err)
			}
			compiled, err := dataflow.Compile(WordCount.Name(), args, dataflow.PlanOptions{Parallelism: 1})
			if err != nil {
				b.Fatal(err)
			}
			graph, err := compiled.Prepare(b.Context(), files, nil)
			if err != nil {
				b.Fatal(err)
			}
			words := int64(bytes.Count(text, []byte(" ")) + bytes.Count(text, []byte("\n")))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				s := &sourceOnly{files: files, splits: graph.Vertices[0].Splits}
				if err := compiled.Tasks[0].Run(b.Context(), s); err != nil {
					b.Fatal(err)
				}
				if s.words.Value() != words {
					b.Fatalf("%d words, want %d", s.words.Value(), words)
				}
			}
		})
	}
}

// sourceOnly is the subtask of a source whose output is discarded.
type sourceOnly struct {
	operator.Subtask // the methods that a source does not call
	files            filesystem.FileSystem
	splits           []jobgraph.Split
	words            operator.Counter
}

func (s *sourceOnly) Index() int                        { return 0 }
func (s *sourceOnly) Parallelism() int                  { return 1 }
func (s *sourceOnly) Job() string                       { return "job" }
func (s *sourceOnly) Epoch() int                        { return 1 }
func (s *sourceOnly) Attempt() string                   { return "attempt" }
func (s *sourceOnly) LocalDirs() []string               { return nil }
func (s *sourceOnly) Resources() map[string]int64       { return nil }
func (s *sourceOnly) FileSystem() filesystem.FileSystem { return s.files }
func (s *sourceOnly) Metrics(int) operator.Metrics      { return counting{words: &s.words} }
func (s *sourceOnly) Output(int) operator.RecordWriter  { return nowhere{} }

func (s *sourceOnly) Memory(least, most int64) operator.Memory {
	var memory broker.Broker
	memory.Resize(256 << 20)
	account, _ := memory.Open(least, most)
	return account
}

func (s *sourceOnly) PollSplit(context.Context) (jobgraph.Split, bool, error) {
	if len(s.splits) == 0 {
		return jobgraph.Split{}, false, io.EOF
	}
	next := s.splits[0]
	s.splits = s.splits[1:]
	return next, true, nil
}

// counting has the only counter.
type counting struct {
	operator.Metrics
	words *operator.Counter
}

func (c counting) Counter(string) *operator.Counter { return c.words }

type nowhere struct{}

func (nowhere) Channels() int                           { return 4 }
func (nowhere) Emit(context.Context, int, []byte) error { return nil }
func (nowhere) Flush(context.Context) error             { return nil }

// zipfText makes about size bytes of lines whose words are as frequent as in
// natural text.
func zipfText(size, vocabulary int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := make([][]byte, vocabulary)
	for i := range words {
		word := make([]byte, 2+r.IntN(4)+r.IntN(6))
		for k := range word {
			word[k] = byte('a' + r.IntN(26))
		}
		words[i] = word
	}
	zipf := rand.NewZipf(r, 1.1, 3, uint64(vocabulary-1))
	var text []byte
	for n := 1; len(text) < size; n++ {
		text = append(text, words[zipf.Uint64()]...)
		if n%12 == 0 {
			text = append(text, '\n')
		} else {
			text = append(text, ' ')
		}
	}
	text[len(text)-1] = '\n'
	return text
}
