package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// countByHand counts the words of a file like examples/wordcount-tuned, as a programmer would for one
// machine: with a goroutine and a map for each part of the file. It returns the numbers of words
// and of distinct words.
func countByHand(path string, parts int) (words, distinct int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, 0, err
	}
	counts := make([]map[string]*int64, parts)
	faults := make([]error, parts)
	var counting sync.WaitGroup
	from := int64(0)
	for i := range parts {
		to, err := endOfWord(file, max(from, info.Size()*int64(i+1)/int64(parts)))
		if err != nil {
			return 0, 0, err
		}
		part := io.NewSectionReader(file, from, to-from)
		counting.Go(func() { counts[i], faults[i] = countPart(part) })
		from = to
	}
	counting.Wait()
	total := make(map[string]int64)
	for _, part := range counts {
		for word, n := range part {
			total[word] += *n
			words += *n
		}
	}
	return words, int64(len(total)), errors.Join(faults...)
}

// endOfWord moves an offset to the end of the word in which it is.
func endOfWord(file io.ReaderAt, at int64) (int64, error) {
	var c [1]byte
	for ; ; at++ {
		_, err := file.ReadAt(c[:], at)
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return at, err
		}
		if wordBytes[c[0]] == 0 {
			return at, nil
		}
	}
}

func countPart(part io.Reader) (map[string]*int64, error) {
	counts := make(map[string]*int64)
	buffer := make([]byte, 1<<20)
	held := 0 // bytes at the start of the buffer: a word whose end has not been read
	for {
		n, err := io.ReadFull(part, buffer[held:])
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return nil, err
		}
		text := buffer[:held+n]
		start := 0
		for i, c := range text {
			switch lowered := wordBytes[c]; lowered {
			case 0:
				count(counts, text[start:i])
				start = i + 1
			case c:
			default:
				text[i] = lowered
			}
		}
		if end {
			count(counts, text[start:])
			return counts, nil
		}
		if held = copy(buffer, text[start:]); held == len(buffer) {
			return nil, fmt.Errorf("a word is longer than %d bytes", held)
		}
	}
}

func count(counts map[string]*int64, word []byte) {
	if len(word) == 0 {
		return
	}
	if n := counts[string(word)]; n != nil {
		*n++
		return
	}
	one := int64(1)
	counts[string(word)] = &one
}

// wordBytes maps each byte of a word to its lower-case form, and all other bytes to 0.
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
