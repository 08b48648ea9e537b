package flink

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"
)

// Strings returns the strings in the code of Flink's runtime, and the states of a job. It leaves out MetricNames, a list of constants of which Flink does not
// use all.
func Strings(t testing.TB) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	for _, file := range dist(t).File {
		name, isClass := strings.CutSuffix(file.Name, ".class")
		wanted := strings.HasPrefix(name, "org/apache/flink/runtime/") || name == "org/apache/flink/api/common/JobStatus"
		if !isClass || !wanted || path.Base(name) == "MetricNames" {
			continue
		}
		class, err := read(file)
		if err == nil {
			err = addStrings(all, class)
		}
		if err != nil {
			t.Fatalf("%s: %v", file.Name, err)
		}
	}
	return all
}

func read(file *zip.File) ([]byte, error) {
	r, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// addStrings adds the string constants of a class file; JVMS 4.4.
func addStrings(all map[string]bool, class []byte) error {
	const (
		utf8, long, double, text = 1, 5, 6, 8
		beforeConstants          = 8 // bytes
	)
	sizes := map[byte]int{3: 4, 4: 4, long: 8, double: 8, 7: 2, text: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
	r := bytes.NewReader(class[beforeConstants:])
	next := func(n int) []byte {
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil {
			return make([]byte, n) // its tag, 0, is unknown
		}
		return b
	}
	count := int(binary.BigEndian.Uint16(next(2)))
	utf8s := make(map[uint16]string)
	var texts []uint16
	for i := 1; i < count; i++ {
		tag := next(1)[0]
		if tag == utf8 {
			utf8s[uint16(i)] = string(next(int(binary.BigEndian.Uint16(next(2)))))
			continue
		}
		size, known := sizes[tag]
		if !known {
			return fmt.Errorf("constant %d has the unknown tag %d", i, tag)
		}
		value := next(size)
		switch tag {
		case text:
			texts = append(texts, binary.BigEndian.Uint16(value))
		case long, double: // they take two places
			i++
		}
	}
	for _, at := range texts {
		all[utf8s[at]] = true
	}
	return nil
}
