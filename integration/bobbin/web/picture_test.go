package web

import (
	"bytes"
	"image"
	"image/png"
	"testing"
)

// heights are those of pictures that need not show the whole window, in pixels: a log fills any window, and its text makes large files.
var heights = map[string]int{"worker": 520} //nolint:gochecknoglobals // a constant table

// top cuts off the lower part of a picture.
func top(t *testing.T, picture []byte, height int) []byte {
	t.Helper()
	whole, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	part, is := whole.(interface {
		SubImage(r image.Rectangle) image.Image
	})
	if !is {
		t.Fatalf("a part of a %T cannot be taken", whole)
	}
	at := whole.Bounds()
	at.Max.Y = min(at.Max.Y, at.Min.Y+height)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, part.SubImage(at)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
