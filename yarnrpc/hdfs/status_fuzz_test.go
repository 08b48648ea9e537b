package hdfs

import (
	"io/fs"
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
)

// FuzzListing gives one answer of a NameNode again and again. It would catch a listing that never ends,
// a panic about a missing field, blocks of a listing that could be read, and lengths with which readers
// would allocate or slice wrongly.
func FuzzListing(f *testing.F) {
	for _, list := range []*hdfspb.DirectoryListingProto{
		nil, part(0), part(3), part(0, "a", "b"), part(3, "a", "b"), part(1, "b", "a"), part(1, ""),
	} {
		says, err := proto.Marshal(&hdfspb.GetListingResponseProto{DirList: list})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(says)
	}
	beyond := part(0, "a").PartialListing[0]
	beyond.Length = proto.Uint64(1 << 63)
	overlong := part(0, "a").PartialListing[0]
	overlong.Locations.Blocks[0].B.NumBytes, overlong.Locations.Blocks[0].Offset = proto.Uint64(math.MaxInt64), proto.Uint64(1)
	underConstruction := &hdfspb.LocatedBlocksProto{
		FileLength: proto.Uint64(130), Blocks: []*hdfspb.LocatedBlockProto{located(0, 130, true)}, UnderConstruction: proto.Bool(true), IsLastBlockComplete: proto.Bool(false),
	}
	for _, answer := range []proto.Message{
		&hdfspb.GetLocatedFileInfoResponseProto{Fs: part(0, "a").PartialListing[0]},
		&hdfspb.GetFileInfoResponseProto{Fs: someFile("alice", 7)}, &hdfspb.GetFileInfoResponseProto{Fs: beyond}, &hdfspb.GetFileInfoResponseProto{Fs: overlong},
		&hdfspb.GetBlockLocationsResponseProto{Locations: underConstruction},
		&hdfspb.GetBlockLocationsResponseProto{Locations: &hdfspb.LocatedBlocksProto{
			FileLength: proto.Uint64(1 << 63), UnderConstruction: proto.Bool(false), IsLastBlockComplete: proto.Bool(true),
		}},
	} {
		says, err := proto.Marshal(answer)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(says)
	}
	sound := func(t *testing.T, length int64, blocks []Block) {
		if length < 0 {
			t.Errorf("a file has %d bytes", length)
		}
		for _, b := range blocks {
			if b.Offset < 0 || b.Length < 0 || b.Offset > math.MaxInt64-b.Length {
				t.Errorf("a block has %d bytes from %d on", b.Length, b.Offset)
			}
		}
	}
	f.Fuzz(func(t *testing.T, says []byte) {
		calls := 0
		n := NewNameNode(callerFunc(func(_ string, _, response proto.Message) error {
			if calls++; calls > 2 {
				t.Fatal("it asks on for what it has been given")
			}
			return proto.Unmarshal(says, response)
		}))
		for part, err := range n.List(t.Context(), "/dir", true) {
			if err != nil {
				break
			}
			for _, s := range part {
				sound(t, s.Length, s.Blocks)
				for _, b := range s.Blocks {
					if b.located != nil {
						t.Errorf("%+v keeps what reads it", b)
					}
				}
			}
		}
		calls = 0
		if s, err := n.Open(t.Context(), "/f"); err == nil {
			sound(t, s.Length, s.Blocks)
			d := newDataNodes(false)
			for _, b := range s.Blocks {
				if asked := d.inOrder(b.located.GetLocs()); len(asked) != len(b.Hosts) {
					t.Errorf("%d of %d DataNodes are asked", len(asked), len(b.Hosts))
				}
			}
		}
		calls = 0
		if s, err := n.Stat(t.Context(), "/f"); err == nil {
			sound(t, s.Length, s.Blocks)
			if s.Mode&^(fs.ModePerm|fs.ModeSticky) != 0 || s.IsDir && s.Refused != nil {
				t.Errorf("%+v is told", s)
			}
		}
		if layout, err := n.Locate(t.Context(), "/f", 7, 100); err == nil {
			sound(t, layout.Length, layout.Blocks)
		}
	})
}
