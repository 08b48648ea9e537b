// Topwords finds the most frequent words of texts, for each first letter. It shows
// an aggregation of the results of another one.
//
//	topwords N OUTPUT TEXTS
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Args are the arguments of the job.
type Args struct {
	N      int // words for each letter
	Output string
	Texts  []string
}

// Count is a word and how often it occurs.
type Count = dataflow.KV[string, int64]

// TopWords counts words, and keeps the N most frequent ones of each first letter.
var TopWords = dataflow.Job("topwords", func(p *dataflow.Plan, a Args) error {
	words := dataflow.FlatMap(dataflow.ReadText(p, a.Texts...), eachWord)
	counts := dataflow.Count(dataflow.KeyBy(words, dataflow.Identity))
	top := dataflow.TopN(dataflow.KeyBy(counts, firstLetter), a.N, moreFrequent)
	dataflow.WriteText(top, a.Output, letterAndWords)
	return nil
})

// eachWord emits the words of a line in lower case: runs of letters.
func eachWord(line []byte, emit func(string)) {
	for _, word := range strings.FieldsFunc(string(line), func(c rune) bool { return !unicode.IsLetter(c) }) {
		emit(strings.ToLower(word))
	}
}

func firstLetter(c Count) string {
	_, size := utf8.DecodeRuneInString(c.Key)
	return c.Key[:size]
}

// moreFrequent is the order of words: the greater one is more frequent, or comes first in the dictionary.
func moreFrequent(a, b Count) int {
	return cmp.Or(cmp.Compare(a.Value, b.Value), strings.Compare(b.Key, a.Key))
}

// letterAndWords formats an output line: the letter, and its words with their counts.
func letterAndWords(dst []byte, top dataflow.KV[string, []Count]) []byte {
	dst = append(append(dst, top.Key...), ':')
	for _, c := range top.Value {
		dst = fmt.Appendf(dst, " %s %d", c.Key, c.Value)
	}
	return dst
}

func main() {
	bobbin.Main(func(ctx context.Context, env *dataflow.Env) error {
		args := env.Args()
		if len(args) < 3 {
			return errors.New("usage: topwords N OUTPUT TEXTS")
		}
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return fmt.Errorf("the number of words: %w", err)
		}
		_, err = env.Execute(ctx, TopWords, Args{N: n, Output: args[1], Texts: args[2:]})
		return err
	})
}
