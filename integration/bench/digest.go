package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// digest identifies a text whatever the order of its lines.
type digest struct {
	lines int64
	sum   uint64 // of the hashes of the lines
}

func (d digest) plus(o digest) digest { return digest{d.lines + o.lines, d.sum + o.sum} }

var errOrder = errors.New("the lines are not in the order of their keys")

// keyRange is the keys of a sorted file.
type keyRange struct{ first, last string }

// digestOf reads a text. If its lines must be sorted by their keys, it also returns their range.
func digestOf(text io.Reader, sorted bool) (d digest, keys keyRange, err error) {
	scanner := bufio.NewScanner(bufio.NewReaderSize(text, 1<<20))
	var last []byte
	for scanner.Scan() {
		line := scanner.Bytes()
		d = d.plus(digest{1, xxhash.Sum64(line)})
		if !sorted {
			continue
		}
		key := line[:min(keySize, len(line))]
		if bytes.Compare(key, last) < 0 {
			return d, keys, fmt.Errorf("line %d: %w: %q comes after %q", d.lines, errOrder, key, last)
		}
		if d.lines == 1 {
			keys.first = string(key)
		}
		last = append(last[:0], key...)
	}
	keys.last = string(last)
	return d, keys, scanner.Err()
}

// output reads a directory of outputs. If they must be sorted, the keys of no two files may overlap.
func (r *rig) output(ctx context.Context, dir string, sorted bool) (total digest, err error) {
	files, err := r.outputFiles(ctx, dir)
	if err != nil {
		return total, err
	}
	var ranges []keyRange
	for _, file := range files {
		d, keys, err := r.digestFile(ctx, file, sorted)
		if err != nil {
			return total, fmt.Errorf("check %s: %w", file, err)
		}
		if total = total.plus(d); d.lines > 0 {
			ranges = append(ranges, keys)
		}
	}
	if sorted {
		err = disjoint(ranges)
	}
	return total, err
}

func (r *rig) digestFile(ctx context.Context, uri string, sorted bool) (d digest, keys keyRange, err error) {
	file, err := r.client.Files.Open(ctx, uri)
	if err != nil {
		return d, keys, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return digestOf(file, sorted)
}

// disjoint checks that files follow each other in some order.
func disjoint(files []keyRange) error {
	slices.SortFunc(files, func(a, b keyRange) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last)) })
	for i := 1; i < len(files); i++ {
		if files[i].first < files[i-1].last {
			return fmt.Errorf("%w: a file begins with %q, and another ends with %q", errOrder, files[i].first, files[i-1].last)
		}
	}
	return nil
}
