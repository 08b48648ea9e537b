package flame

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxProfile bounds a profile of this process without compression, in bytes. One of a thousand goroutines has some 500 KiB.
const maxProfile = 64 << 20

// errProfile says that a profile cannot be read.
var errProfile = errors.New("is no profile in the form of pprof")

// Selection says which part of a profile a graph gets.
type Selection struct {
	// Type names the values of samples that count, for example "cpu" or "inuse_space".
	Type string
	// Scale divides the values; 0: 1.
	Scale int64
	// Label is the label whose value is the first level. Samples without it are left out. "": there is no such level, and
	// all samples count.
	Label string
	// Leaf chooses samples by the innermost function; nil: all of them.
	Leaf func(function string) bool
}

// AddProfile adds the samples of a profile in the form of pprof, as runtime/pprof writes it: profile.proto, compressed
// with gzip.
func (g *Graph) AddProfile(compressed []byte, s Selection) error {
	unzip, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return fmt.Errorf("%w: %w", errProfile, err)
	}
	all, err := io.ReadAll(io.LimitReader(unzip, maxProfile+1))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errProfile, err)
	case len(all) > maxProfile:
		return fmt.Errorf("%w: it has more than %d bytes", errProfile, maxProfile)
	}
	p, err := parse(all)
	if err != nil {
		return err
	}
	return p.addTo(g, s)
}

// profile is a message Profile of profile.proto. Its numbers are those of the fields there.
type profile struct {
	types     [][]byte            // sample_type, not decoded: the strings come last
	samples   [][]byte            // likewise
	functions map[uint64]uint64   // the index of each one's name
	locations map[uint64][]uint64 // the functions of each one, the innermost first
	strings   []string
}

func parse(b []byte) (*profile, error) {
	p := &profile{functions: make(map[uint64]uint64), locations: make(map[uint64][]uint64)}
	err := eachField(b, func(number int, _ uint64, part []byte) error {
		switch number {
		case 1:
			p.types = append(p.types, part)
		case 2:
			p.samples = append(p.samples, part)
		case 4:
			return p.location(part)
		case 5:
			var id, name uint64
			err := eachField(part, func(number int, value uint64, _ []byte) error {
				switch number {
				case 1:
					id = value
				case 2:
					name = value
				}
				return nil
			})
			p.functions[id] = name
			return err
		case 6:
			p.strings = append(p.strings, string(part))
		}
		return nil
	})
	return p, err
}

// location reads a Location, which has several functions if some are inlined.
func (p *profile) location(b []byte) error {
	var id uint64
	var functions []uint64
	err := eachField(b, func(number int, value uint64, part []byte) error {
		switch number {
		case 1:
			id = value
		case 4:
			return eachField(part, func(number int, value uint64, _ []byte) error {
				if number == 1 {
					functions = append(functions, value)
				}
				return nil
			})
		}
		return nil
	})
	p.locations[id] = functions
	return err
}

func (p *profile) text(index uint64) string {
	if index >= uint64(len(p.strings)) {
		return ""
	}
	return p.strings[index]
}

// column is the index of the values of a type.
func (p *profile) column(name string) (int, error) {
	for i, b := range p.types {
		var text uint64
		err := eachField(b, func(number int, value uint64, _ []byte) error {
			if number == 1 {
				text = value
			}
			return nil
		})
		if err != nil || p.text(text) == name {
			return i, err
		}
	}
	return 0, fmt.Errorf("%w: it has no values of type %s", errProfile, name)
}

func (p *profile) addTo(g *Graph, s Selection) error {
	column, err := p.column(s.Type)
	if err != nil {
		return err
	}
	for _, b := range p.samples {
		locations, values, label, err := p.sample(b, s.Label)
		if err != nil {
			return err
		}
		if column >= len(values) || values[column] > math.MaxInt64 {
			continue
		}
		var stack []string // the innermost function first
		for _, l := range locations {
			for _, f := range p.locations[l] {
				stack = append(stack, p.text(p.functions[f]))
			}
		}
		if s.Leaf != nil && (len(stack) == 0 || !s.Leaf(stack[0])) {
			continue
		}
		if s.Label != "" {
			if label == "" {
				continue
			}
			stack = append(stack, label)
		}
		slices.Reverse(stack)
		g.Add(stack, int64(values[column])/max(s.Scale, 1))
	}
	return nil
}

// sample reads a Sample, and the text of one of its labels.
func (p *profile) sample(b []byte, key string) (locations, values []uint64, label string, err error) {
	err = eachField(b, func(number int, value uint64, part []byte) error {
		var err error
		switch number {
		case 1:
			locations, err = numbers(locations, value, part)
		case 2:
			values, err = numbers(values, value, part)
		case 3:
			var name, text uint64
			err = eachField(part, func(number int, value uint64, _ []byte) error {
				switch number {
				case 1:
					name = value
				case 2:
					text = value
				}
				return nil
			})
			if key != "" && p.text(name) == key {
				label = p.text(text)
			}
		}
		return err
	})
	return locations, values, label, err
}

// numbers appends a field of several numbers: one of them, or a packed part.
func numbers(to []uint64, one uint64, packed []byte) ([]uint64, error) {
	if packed == nil {
		return append(to, one), nil
	}
	for len(packed) > 0 {
		n, size := protowire.ConsumeVarint(packed)
		if size < 0 {
			return nil, fmt.Errorf("%w: %w", errProfile, protowire.ParseError(size))
		}
		to, packed = append(to, n), packed[size:]
	}
	return to, nil
}

// eachField calls a function for each field of a message: with its number, or with its bytes, which are not nil then.
func eachField(b []byte, do func(number int, value uint64, part []byte) error) error {
	for len(b) > 0 {
		number, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return fmt.Errorf("%w: %w", errProfile, protowire.ParseError(size))
		}
		b = b[size:]
		var value uint64
		var part []byte
		switch kind {
		case protowire.VarintType:
			value, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			if part, size = protowire.ConsumeBytes(b); part == nil {
				part = []byte{}
			}
		default: // no field that counts here
			if size = protowire.ConsumeFieldValue(number, kind, b); size >= 0 {
				b = b[size:]
				continue
			}
		}
		if size < 0 {
			return fmt.Errorf("%w: %w", errProfile, protowire.ParseError(size))
		}
		b = b[size:]
		if err := do(int(number), value, part); err != nil {
			return err
		}
	}
	return nil
}

// Parked reports whether a goroutine waits, by its innermost function: it is off the processor. A goroutine in a system
// call counts as running, as a thread in one does in Java.
func Parked(function string) bool {
	switch function {
	case "runtime.gopark", "runtime.goparkunlock", "runtime.notetsleepg", "runtime.gosched_m", "runtime.goyield_m":
		return true
	}
	return false
}
