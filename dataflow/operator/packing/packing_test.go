package packing_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/bobbin-yarn/bobbin/dataflow/operator/packing"
)

const head, size = 3, 1000

// noise is a block that does not get smaller.
func noise(r *rand.Rand) []byte {
	block := make([]byte, size)
	for i := range block {
		block[i] = byte(r.Uint32())
	}
	return block
}

// It would catch a block that is lost or cut, and one that is stored compressed though it is hardly smaller.
func TestBlocksComeBack(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	p := packing.New(head, size)
	text := bytes.Repeat([]byte("text "), size/5)
	for n := range size + 1 {
		packed := p.Pack(text[:n])
		if packed == nil {
			if n > 100 {
				t.Errorf("%d bytes of text are not compressed", n)
			}
			for packed == nil { // it skips blocks
				packed = p.Pack(text)
			}
			continue
		}
		if got, err := s2.Decode(nil, packed[head:]); err != nil || !bytes.Equal(got, text[:n]) || len(packed)-head > n-n/8 {
			t.Fatalf("%d bytes become %d, and then %d: %v", n, len(packed)-head, len(got), err)
		}
	}
	if packed := p.Pack(noise(r)); packed != nil {
		t.Errorf("noise of %d bytes becomes %d", size, len(packed)-head)
	}
	if (*packing.Packer)(nil).Pack(text) != nil {
		t.Error("nothing packs")
	}
}

// It would catch a packer that tries each block of data which does not get smaller, and one that never tries again.
func TestBlocksLikeThoseThatStayLargeAreSkipped(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	p := packing.New(head, size)
	for range 100 {
		p.Pack(noise(r))
	}
	text := bytes.Repeat([]byte("text "), size/5)
	skipped := 0
	for p.Pack(text) == nil {
		skipped++
	}
	if skipped == 0 || skipped > 16 {
		t.Errorf("%d blocks of text are skipped behind noise, want 1 to 16", skipped)
	}
	for range 100 {
		if p.Pack(text) == nil {
			t.Fatal("a block of text is skipped behind another one")
		}
	}
	p.Pack(noise(r))
	if p.Pack(text) != nil || p.Pack(text) == nil {
		t.Error("behind one block of noise, not just one block is skipped")
	}
}
