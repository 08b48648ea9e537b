package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

const (
	// keySize and lineSize are the bytes of a key, and of a line with its end.
	keySize, lineSize = 10, 100
	// bareSize is the size of a line that is only a key.
	bareSize = keySize + 1
	// keyCharacters are in the order of their bytes. There are 64 of them.
	keyCharacters = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
)

// lines is a text that is the same each time it is made. A line begins with a key; its number in the text and characters that
// hardly compress follow.
type lines struct {
	count int64
	key   func(line int64) int64 // the number of the line's key
	bare  bool                   // the lines are only keys
}

// size is in bytes.
func (l lines) size() int64 {
	if l.bare {
		return l.count * bareSize
	}
	return l.count * lineSize
}

func (l lines) writeTo(w io.Writer) error {
	buffer := bufio.NewWriterSize(w, 1<<20)
	for i := range l.count {
		line := appendCharacters(buffer.AvailableBuffer(), uint64(l.key(i)), keySize)
		if !l.bare {
			line = append(line, ' ')
			number := len(line)
			line = strconv.AppendInt(line, i, 10)
			line = appendCharacters(append(line, ' '), ^uint64(i), lineSize-2-keySize-(len(line)-number)-1)
		}
		if _, err := buffer.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return buffer.Flush()
}

// appendCharacters appends n characters that a seed determines.
func appendCharacters(dst []byte, seed uint64, n int) []byte {
	for word := uint64(0); n > 0; word++ {
		bits := scramble(scramble(seed) + word)
		for range min(n, keySize) { // 60 bits
			dst = append(dst, keyCharacters[bits>>58])
			bits <<= 6
		}
		n -= keySize
	}
	return dst
}

// scramble maps each number to another one that looks random: the steps are those of splitmix64.
func scramble(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// each gives each line a key of its own.
func each(line int64) int64 { return line }

// anyOf gives a line one of n keys.
func anyOf(n int64) func(line int64) int64 {
	return func(line int64) int64 { return int64(scramble(uint64(line)) % uint64(n)) }
}

// allOf is anyOf, but the first n lines have all n keys.
func allOf(n int64) func(line int64) int64 {
	return func(line int64) int64 {
		if line < n {
			return line
		}
		return anyOf(n)(line)
	}
}

// generate writes a text to a new file on HDFS.
func (r *rig) generate(ctx context.Context, uri string, l lines) error {
	file, err := r.client.Files.Create(ctx, uri, filesystem.MakeParents)
	if err != nil {
		return err
	}
	if err := errors.Join(l.writeTo(file), file.Close()); err != nil {
		return fmt.Errorf("generate %s: %w", uri, err)
	}
	return nil
}
