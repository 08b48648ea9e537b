package rolerpc

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

func TestFrameKeepsTokenAndMessage(t *testing.T) {
	t.Parallel()
	for _, want := range []Frame{
		{"", msg.Heartbeat{}},
		{strings.Repeat("t", maxToken), freed(3)},
	} {
		data, err := EncodeFrame(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeFrame(data, everything)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("decoded frame differs (-want +got):\n%s", diff)
		}
	}
	if _, err := EncodeFrame(Frame{strings.Repeat("t", maxToken+1), msg.Heartbeat{}}); !errors.Is(err, errFrame) {
		t.Errorf("token over the bound: got error %v", err)
	}
}

// FuzzDecodeFrame would catch a peer's bytes that crash a role.
func FuzzDecodeFrame(f *testing.F) {
	for _, seed := range []Frame{{"", msg.Heartbeat{}}, {"token", msg.OfferSlots{Offers: []msg.SlotOffer{{Index: 1, Allocation: "a"}}}}} {
		data, err := EncodeFrame(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := DecodeFrame(data, everything)
		if err != nil {
			return
		}
		if _, err := EncodeFrame(got); err != nil {
			t.Errorf("decoded frame does not encode: %v", err)
		}
	})
}
