package hdfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
)

// listed answers calls of getListing with parts, and records the names after which they were
// requested.
func listed(t *testing.T, after *[]string, blocks bool, parts ...*hdfspb.DirectoryListingProto) *NameNode {
	t.Helper()
	return NewNameNode(callerFunc(func(method string, request, response proto.Message) error {
		asked := request.(*hdfspb.GetListingRequestProto)
		if method != "getListing" || asked.GetSrc() != "/dir" || asked.GetNeedLocation() != blocks {
			t.Errorf("asked %s %v", method, asked)
		}
		*after = append(*after, string(asked.GetStartAfter()))
		proto.Merge(response, &hdfspb.GetListingResponseProto{DirList: parts[min(len(*after), len(parts))-1]})
		return nil
	}))
}

// part is a part of a listing with that many remaining entries.
func part(remain int, names ...string) *hdfspb.DirectoryListingProto {
	list := &hdfspb.DirectoryListingProto{RemainingEntries: proto.Uint32(uint32(remain))}
	for _, name := range names {
		status := someFile("alice", 5)
		status.Path = []byte(name)
		status.Locations = &hdfspb.LocatedBlocksProto{
			FileLength: proto.Uint64(5), Blocks: []*hdfspb.LocatedBlockProto{located(0, 5, false, "n1", "n2")},
			UnderConstruction: proto.Bool(false), IsLastBlockComplete: proto.Bool(true),
		}
		list.PartialListing = append(list.PartialListing, status)
	}
	return list
}

func list(t *testing.T, n *NameNode, blocks bool) (entries []Status, err error) {
	for part, err := range n.List(t.Context(), "/dir", blocks) {
		if err != nil {
			return entries, err
		}
		entries = append(entries, part...)
	}
	return entries, nil
}

// It would catch a listing that ends with its first part, starts again with each part, or makes one
// call too many.
func TestAListingGoesOnAfterItsLastName(t *testing.T) {
	t.Parallel()
	var after []string
	got, err := list(t, listed(t, &after, true, part(3, "a", "b"), part(1, "c", "d"), part(0, "e")), true)
	if err != nil || len(got) != 5 || !slices.Equal(after, []string{"", "b", "d"}) {
		t.Fatalf("%d entries after %q, %v", len(got), after, err)
	}
	for i, s := range got {
		if s.Name != string(rune('a'+i)) || s.Length != 5 || len(s.Blocks) != 1 || !slices.Equal(s.Blocks[0].Hosts, []string{"n1", "n2"}) {
			t.Errorf("entry %d is %+v", i, s)
		}
	}
}

// It would catch a listing that never ends when the NameNode makes no progress.
func TestAListingWithoutProgressIsAnError(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]*hdfspb.DirectoryListingProto{
		"nothing comes":  {part(3, "a", "b"), part(1)},
		"the same again": {part(3, "a", "b"), part(3, "a", "b")},
	} {
		var after []string
		if _, err := list(t, listed(t, &after, false, parts...), false); !errors.Is(err, errNoProgress) || len(after) != 2 {
			t.Errorf("%s: error %v after %d calls", name, err, len(after))
		}
	}
	var after []string
	if _, err := list(t, listed(t, &after, false, nil), false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
}

// No call may follow after a reader has left.
func TestAListingEndsWithItsReader(t *testing.T) {
	t.Parallel()
	var after []string
	for range listed(t, &after, false, part(1, "a"), part(0, "b")).List(t.Context(), "/dir", false) {
		break
	}
	if len(after) != 1 {
		t.Errorf("%d calls for one part", len(after))
	}
}

// It would catch a file in an encryption zone that a plan accepts, and rights that are read wrongly
// because the mode does not show them.
func TestAStatusTellsWhatItsReaderNeeds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*hdfspb.HdfsFileStatusProto)
		check  func(Status) bool
	}{
		"a plain file":      {func(*hdfspb.HdfsFileStatusProto) {}, func(s Status) bool { return s.Refused == nil && !s.HasACL && !s.IsDir && s.Owner == "alice" }},
		"an encrypted file": {func(p *hdfspb.HdfsFileStatusProto) { p.FileEncryptionInfo = new(hdfspb.FileEncryptionInfoProto) }, func(s Status) bool { return errors.Is(s.Refused, ErrEncryptionZone) }},
		"a striped file":    {func(p *hdfspb.HdfsFileStatusProto) { p.EcPolicy = new(hdfspb.ErasureCodingPolicyProto) }, func(s Status) bool { return errors.Is(s.Refused, ErrErasureCoded) }},
		"a striped directory": {func(p *hdfspb.HdfsFileStatusProto) {
			p.EcPolicy, p.FileType = new(hdfspb.ErasureCodingPolicyProto), hdfspb.HdfsFileStatusProto_IS_DIR.Enum()
		}, func(s Status) bool { return s.IsDir && s.Refused == nil }},
		"an ACL": {func(p *hdfspb.HdfsFileStatusProto) { p.Flags = proto.Uint32(5) }, func(s Status) bool { return s.HasACL }},
	} {
		status := someFile("alice", 5)
		c.change(status)
		nn := NewNameNode(callerFunc(func(method string, _, response proto.Message) error {
			if method != "getFileInfo" {
				return fmt.Errorf("called %s", method)
			}
			response.(*hdfspb.GetFileInfoResponseProto).Fs = status
			return nil
		}))
		if got, err := nn.Stat(t.Context(), "/f"); err != nil || !c.check(got) {
			t.Errorf("%s is %+v, %v", name, got, err)
		}
	}
}

// Without tokens, nothing can be read on a secure cluster. With the same order for all, one replica
// would serve every reader.
func TestOpenGivesWhatReadingTakes(t *testing.T) {
	t.Parallel()
	nn := NewNameNode(callerFunc(func(method string, request, response proto.Message) error {
		if asked := request.(*hdfspb.GetLocatedFileInfoRequestProto); method != "getLocatedFileInfo" || asked.GetSrc() != "/f" || !asked.GetNeedBlockToken() {
			t.Errorf("asked %s %v", method, request)
		}
		response.(*hdfspb.GetLocatedFileInfoResponseProto).Fs = part(0, "").PartialListing[0]
		return nil
	}))
	first := make(map[string]bool)
	for range 100 {
		s, err := nn.Open(t.Context(), "/f")
		if err != nil || len(s.Blocks) != 1 || s.Blocks[0].located.GetBlockToken() == nil {
			t.Fatalf("%+v, %v", s, err)
		}
		first[s.Blocks[0].Hosts[0]] = true
	}
	if len(first) != 2 {
		t.Errorf("first were %v alone", first)
	}
}

// TestStatusTellsWhoMayWrite would catch a directory that wrongly counts as one where every user may
// replace others' files, and an ACL's mask that is read as the group's rights.
func TestStatusTellsWhoMayWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		perm, flags uint32
		mode        fs.FileMode
		acl         bool
	}{
		{0o755, 0, 0o755, false},
		{0o1777, 0, 0o777 | fs.ModeSticky, false},
		{0o770, 1 | 8, 0o770, true},
		{0o700, 2 | 4, 0o700, false},
	} {
		s := statusOf(&hdfspb.HdfsFileStatusProto{
			FileType: hdfspb.HdfsFileStatusProto_IS_DIR.Enum(), Owner: proto.String("alice"),
			Permission: &hdfspb.FsPermissionProto{Perm: proto.Uint32(c.perm)}, Flags: proto.Uint32(c.flags),
		})
		if s.Mode != c.mode || s.HasACL != c.acl || s.Owner != "alice" {
			t.Errorf("permission %o with flags %d is %+v", c.perm, c.flags, s)
		}
	}
}
