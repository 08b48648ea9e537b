package hdfs

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
)

// FuzzListing has a NameNode give one answer again and again. It would catch a listing that never ends,
// a description that panics for what is left out, and blocks that a listing keeps to be read.
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
	says, err := proto.Marshal(&hdfspb.GetLocatedFileInfoResponseProto{Fs: part(0, "a").PartialListing[0]})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(says)
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
				for _, b := range s.Blocks {
					if b.located != nil {
						t.Errorf("%+v keeps what reads it", b)
					}
				}
			}
		}
		calls = 0
		if s, err := n.Open(t.Context(), "/f"); err == nil {
			d := newDataNodes(false)
			for _, b := range s.Blocks {
				if asked := d.inOrder(b.located.GetLocs()); len(asked) != len(b.Hosts) {
					t.Errorf("%d of %d DataNodes are asked", len(asked), len(b.Hosts))
				}
			}
		}
	})
}
