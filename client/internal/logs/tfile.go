package logs

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// errFormat says that a file is not a TFile of aggregated logs, or is damaged.
var errFormat = errors.New("malformed aggregated log file")

// A TFile, as YARN's TFile log aggregation writes one for each node
// (org.apache.hadoop.io.file.tfile.TFile over BCFile):
//
//	magic │ data blocks │ meta blocks │ meta index │ offset of meta index, 8 │ version, 4 │ magic
const (
	magicSize   = 16
	trailerSize = 8 + 4 + magicSize
	maxIndex    = 16 << 20 // bytes of an index block
	maxEntries  = 1 << 20  // entries of an index
	maxName     = 64 << 10 // bytes of a name or key
)

func magic() []byte {
	return []byte{0xd1, 0x11, 0xd3, 0x68, 0x91, 0xb5, 0xd7, 0xb6, 0x39, 0xdf, 0x41, 0x40, 0x92, 0xba, 0xe1, 0x50}
}

// region is a block of the file.
type region struct {
	codec                   string
	offset, compressed, raw int64
}

// tfile reads the records of a file in order.
type tfile struct {
	file   io.ReadSeeker
	size   int64
	blocks []region
}

func openTFile(file io.ReadSeeker) (*tfile, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	t := &tfile{file: file, size: size}
	if size < magicSize+trailerSize {
		return nil, fmt.Errorf("%w: %d bytes", errFormat, size)
	}
	trailer, err := t.read(size-trailerSize, trailerSize)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(trailer[trailerSize-magicSize:], magic()) {
		return nil, fmt.Errorf("%w: it does not end as a TFile does", errFormat)
	}
	offset := int64(binary.BigEndian.Uint64(trailer))
	index, err := t.metaIndex(offset, size-trailerSize)
	if err != nil {
		return nil, err
	}
	data, known := index["data:BCFile.index"]
	if !known {
		return nil, fmt.Errorf("%w: it has no BCFile.index", errFormat)
	}
	t.blocks, err = t.dataIndex(data)
	return t, err
}

// read returns a run of bytes that an index names.
func (t *tfile) read(offset, length int64) ([]byte, error) {
	if offset < 0 || length < 0 || length > maxIndex || offset > t.size-length {
		return nil, fmt.Errorf("%w: %d bytes at %d of %d", errFormat, length, offset, t.size)
	}
	if _, err := t.file.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	b := make([]byte, length)
	if _, err := io.ReadFull(t.file, b); err != nil {
		return nil, err
	}
	return b, nil
}

// open returns a block's content as a stream, uncompressed.
func (t *tfile) open(r region) (io.Reader, error) {
	if r.offset < 0 || r.compressed < 0 || r.offset > t.size-r.compressed {
		return nil, fmt.Errorf("%w: block of %d bytes at %d of %d", errFormat, r.compressed, r.offset, t.size)
	}
	if _, err := t.file.Seek(r.offset, io.SeekStart); err != nil {
		return nil, err
	}
	stored := io.LimitReader(t.file, r.compressed)
	switch r.codec {
	case "none":
		return stored, nil
	case "gz":
		return zlib.NewReader(bufio.NewReader(stored))
	default:
		return nil, fmt.Errorf("aggregated log file is compressed with %q, which is not supported: use yarn logs", r.codec)
	}
}

func (t *tfile) metaIndex(offset, end int64) (map[string]region, error) {
	b, err := t.read(offset, end-offset)
	if err != nil {
		return nil, err
	}
	d := decoder{r: bufio.NewReader(bytes.NewReader(b))}
	index := make(map[string]region)
	for range d.count() {
		name := d.text()
		index[name] = region{codec: d.text(), offset: d.vlong(), compressed: d.vlong(), raw: d.vlong()}
		if d.err != nil {
			return nil, d.err
		}
	}
	return index, d.err
}

func (t *tfile) dataIndex(r region) ([]region, error) {
	content, err := t.open(r)
	if err != nil {
		return nil, err
	}
	d := decoder{r: bufio.NewReader(io.LimitReader(content, maxIndex))}
	codec := d.text()
	var blocks []region
	for range d.count() {
		blocks = append(blocks, region{codec: codec, offset: d.vlong(), compressed: d.vlong(), raw: d.vlong()})
		if d.err != nil {
			return nil, d.err
		}
	}
	return blocks, d.err
}

// records calls visit with each record. value ends with the record. records skips what visit does not read.
func (t *tfile) records(visit func(key []byte, value io.Reader) error) error {
	for _, block := range t.blocks {
		content, err := t.open(block)
		if err != nil {
			return err
		}
		r := bufio.NewReaderSize(content, 64<<10)
		for {
			if _, err := r.Peek(1); errors.Is(err, io.EOF) {
				break
			}
			d := decoder{r: r}
			key := d.bytes(d.vlong())
			if d.err != nil {
				return d.err
			}
			value := &chunks{r: r}
			if err := visit(key, value); err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunks reads a value: runs of bytes, each after its length. All lengths except the last are negative.
type chunks struct {
	r    *bufio.Reader
	left int64
	last bool
}

func (c *chunks) Read(p []byte) (int, error) {
	for c.left == 0 {
		if c.last {
			return 0, io.EOF
		}
		d := decoder{r: c.r}
		length := d.vlong()
		if d.err != nil {
			return 0, d.err
		}
		if length == math.MinInt64 {
			return 0, fmt.Errorf("%w: chunk length", errFormat)
		}
		c.left, c.last = max(length, -length), length >= 0
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// decoder reads TFile's primitives. The first error stays.
type decoder struct {
	r   *bufio.Reader
	err error
}

func (d *decoder) byte() byte {
	if d.err != nil {
		return 0
	}
	b, err := d.r.ReadByte()
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: it ends too soon", errFormat)
	}
	d.err = err
	return b
}

// vlong reads TFile's own variable-length integer (Utils.readVLong), which is
// not WritableUtils'.
func (d *decoder) vlong() int64 {
	first := int64(int8(d.byte()))
	switch {
	case first >= -32:
		return first
	case first >= -72:
		return (first+52)<<8 | int64(d.byte())
	case first >= -104:
		return (first+88)<<16 | int64(d.byte())<<8 | int64(d.byte())
	case first >= -120:
		return (first+112)<<24 | int64(d.byte())<<16 | int64(d.byte())<<8 | int64(d.byte())
	}
	value := int64(int8(d.byte()))
	for range first + 128 { // first + 129 bytes in all
		value = value<<8 | int64(d.byte())
	}
	return value
}

func (d *decoder) count() int64 {
	n := d.vlong()
	if d.err == nil && (n < 0 || n > maxEntries) {
		d.err = fmt.Errorf("%w: index of %d entries", errFormat, n)
	}
	if d.err != nil {
		return 0
	}
	return n
}

func (d *decoder) bytes(n int64) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > maxName {
		d.err = fmt.Errorf("%w: text of %d bytes", errFormat, n)
		return nil
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(d.r, b); err != nil {
		d.err = fmt.Errorf("%w: it ends too soon", errFormat)
	}
	return b
}

func (d *decoder) text() string { return string(d.bytes(d.vlong())) }

// utf reads what Java's writeUTF wrote: a length of two bytes, then the text.
func (d *decoder) utf() string {
	high, low := d.byte(), d.byte()
	return string(d.bytes(int64(high)<<8 | int64(low)))
}

// number reads a decimal number in the form of utf.
func (d *decoder) number() int64 {
	text := d.utf()
	if d.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		d.err = fmt.Errorf("%w: length %q", errFormat, text)
	}
	return n
}
