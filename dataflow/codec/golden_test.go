package codec_test

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
)

// Bytes of a record are part of the protocol between workers, and names are part of
// a job's digest. Catches a change of either that nobody meant.
func TestNamesAndBytesStayTheSame(t *testing.T) {
	t.Parallel()
	moment := time.Date(2026, 11, 30, 12, 0, 0, 5, time.FixedZone("", 3600))
	for _, c := range []golden{
		element([]byte("ab"), "bytes", "6162"),
		element("ab", "string", "6162"),
		element(true, "bool", "01"),
		element(-3, "int", "05"),
		element(int8(-128), "int8", "ff01"),
		element(int16(300), "int16", "d804"),
		element(int32(-300), "int32", "d704"),
		element(int64(1)<<40, "int64", "808080808040"),
		element(uint(300), "uint", "ac02"),
		element(uint8(200), "uint8", "c801"),
		element(uint16(300), "uint16", "ac02"),
		element(uint32(300), "uint32", "ac02"),
		element(uint64(1)<<40, "uint64", "808080808020"),
		element(float32(1.5), "float32", "0000c03f"),
		element(-1.5, "float64", "000000000000f8bf"),
		element(moment, "time.Time", "000000006b0d573000000005a138"),
		element(codec.KV[string, int64]{Key: "ab", Value: -1}, "kv(string,int64)", "02616201"),
		element(codec.KV[codec.KV[bool, []byte], uint16]{Key: codec.KV[bool, []byte]{Value: []byte{7}}, Value: 9}, "kv(kv(bool,bytes),uint16)", "0301000709"),

		element(time.Second, "int64", "80a8d6b907"),
		element([]string{"a", ""}, "[]string", "03016100"),
		element([]string(nil), "[]string", "00"),
		element([2]int8{1, -1}, "[2]int8", "0201"),
		element(map[string]bool{"a": true}, "map[string]bool", "02016101"),
		element(
			line{ID: 1, Price: 0.5, Tags: []string{"x"}, Next: &line{}},
			"codec_test.line{ID int64;Price float64;Tags []string;Next *codec_test.line}",
			"02000000000000e03f02017801000000000000000000"+"0000",
		),
		element(stamps{At: moment}, "codec_test.stamps{At time.Time;Raw []uint8}", "000000006b0d573000000005a13800"),

		key("ab", "string", "6162"),
		key([]byte("ab"), "bytes", "6162"),
		key(true, "bool", "01"),
		key(-3, "key(int)", "7ffffffffffffffd"),
		key(int8(-128), "key(int8)", "00"),
		key(uint16(300), "key(uint16)", "012c"),
		key(-1.5, "key(float64)", "4007ffffffffffff"),
		key(float32(1.5), "key(float32)", "bfc00000"),
		key(moment, "key(time.Time)", "8000000ee29f4e3000000005"),
		key(codec.KV[string, int8]{Key: "a\x00b", Value: 1}, "key(codec.KV[string,int8]{Key string;Value int8})", "6100ff62000081"),
		key([]int8{1, 2}, "key([]int8)", "0181018200"),
		key(stamps{Raw: []byte{0}}, "key(codec_test.stamps{At time.Time;Raw []uint8})", "80000000000000000000000000ff0000"),
	} {
		if c.err != nil || c.gotName != c.wantName || c.gotHex != c.wantHex {
			t.Errorf("got %s %s, %v\nwant %s %s", c.gotName, c.gotHex, c.err, c.wantName, c.wantHex)
		}
	}
}

type line struct {
	ID    int64
	Price float64
	Tags  []string
	Next  *line
}

type stamps struct {
	At  time.Time
	Raw []byte
}

type golden struct {
	gotName, gotHex, wantName, wantHex string
	err                                error
}

func element[T any](v T, name, want string) golden { return goldenOf(codec.For[T], v, name, want) }
func key[T any](v T, name, want string) golden     { return goldenOf(codec.KeyFor[T], v, name, want) }

func goldenOf[T any](find func() (codec.Codec[T], error), v T, name, want string) golden {
	c, err := find()
	if err != nil {
		return golden{wantName: name, err: err}
	}
	encoded, err := c.Append(nil, v)
	return golden{c.Name, hex.EncodeToString(encoded), name, want, err}
}
