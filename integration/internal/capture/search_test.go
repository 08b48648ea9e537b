package capture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

// frameOf returns a segment from port 1 of 127.0.0.1 to a port of 127.0.0.2.
func frameOf(port uint16, flags byte, payload string) []byte {
	frame := make([]byte, 14+20+20, 14+20+20+len(payload))
	frame[12] = 0x08
	ip := frame[14:]
	ip[0], ip[9] = 0x45, 6
	binary.BigEndian.PutUint16(ip[2:], uint16(40+len(payload)))
	copy(ip[12:], []byte{127, 0, 0, 1, 127, 0, 0, 2})
	binary.BigEndian.PutUint16(ip[20:], 1)
	binary.BigEndian.PutUint16(ip[22:], port)
	ip[32], ip[33] = 5<<4, flags
	return append(frame, payload...)
}

func recorded(frames ...[]byte) *bytes.Buffer {
	var b bytes.Buffer
	for _, f := range frames {
		b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(f))))
		b.Write(f)
	}
	return &b
}

// The test would catch a search that misses a pattern. Then every cluster would look safe.
func TestPatternsAreFoundWhereTheyPass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frames [][]byte
		want   bool
	}{
		"in one segment":                           {[][]byte{frameOf(7, 0, "a secret here")}, true},
		"torn apart":                               {[][]byte{frameOf(7, 0, "a se"), frameOf(7, 0, "cr"), frameOf(7, 0, "et")}, true},
		"torn apart, with another between":         {[][]byte{frameOf(7, 0, "a sec"), frameOf(8, 0, "x"), frameOf(7, 0, "ret")}, true},
		"with no content between":                  {[][]byte{frameOf(7, 0, "a sec"), frameOf(7, 0, ""), frameOf(7, 0, "ret")}, true},
		"in the last segment of a connection":      {[][]byte{frameOf(7, 1, "secret")}, true},
		"in a frame of something else":             {[][]byte{[]byte("no TCP at all, with a secret in it, and some more")}, true},
		"put together of two connections":          {[][]byte{frameOf(7, 0, "sec"), frameOf(8, 0, "ret")}, false},
		"put together of one and of its successor": {[][]byte{frameOf(7, 1, "sec"), frameOf(7, 0, "ret")}, false},
		"nowhere": {[][]byte{frameOf(7, 0, "public")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := Search(recorded(c.frames...), []Pattern{{"it", []byte("secret")}, {"another", []byte("a longer pattern than it")}})
			if err != nil {
				t.Fatal(err)
			}
			if _, got := found.Places["it"]; got != c.want {
				t.Errorf("found: %v, want %t", found.Places, c.want)
			}
		})
	}
}

func TestASecretIsFoundInAnyDress(t *testing.T) {
	t.Parallel()
	secret := []byte{0xfb, 0xff, 0xfe, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	patterns, err := Secret("it", secret)
	if err != nil {
		t.Fatal(err)
	}
	texts := [][]byte{secret, fmt.Appendf(nil, "%x", secret), fmt.Appendf(nil, "%X", secret)}
	for before := range 4 {
		for after := range 4 {
			whole := slices.Concat(bytes.Repeat([]byte{0xff}, before), secret, bytes.Repeat([]byte{0xff}, after))
			texts = append(texts, []byte(base64.StdEncoding.EncodeToString(whole)), []byte(base64.RawURLEncoding.EncodeToString(whole)))
		}
	}
	for _, text := range texts {
		found, err := Search(recorded(frameOf(7, 0, "before "+string(text)+" after")), patterns)
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Places) == 0 {
			t.Errorf("not found in %q", text)
		}
	}
	if _, err := Secret("it", secret[:7]); err == nil {
		t.Error("a secret of 7 bytes is looked for")
	}
}

// FuzzSearch would catch a frame that ends the search, so that later frames would not be searched.
func FuzzSearch(f *testing.F) {
	f.Add(frameOf(7, 0, "payload"))
	f.Add(append(make([]byte, 12), 0x86, 0xdd))
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) > maxFrame {
			return
		}
		found, err := Search(recorded(frame, frameOf(7, 0, "payload")), []Pattern{{"it", []byte("payload")}})
		if err != nil || found.Places["it"] == "" {
			t.Errorf("found %v, %v", found, err)
		}
	})
}
