package identifier

import (
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/writable"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var attempt = records.ApplicationAttemptID{Application: records.ApplicationID{ClusterTimestamp: 5, ID: 6}, Attempt: 7}

func token(t *testing.T, kind string, m proto.Message) *creds.Token {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return &creds.Token{Kind: kind, Identifier: b}
}

func TestIdentifiersTellWhoseTheyAre(t *testing.T) {
	amrm, err := DecodeAMRM(token(t, creds.KindAMRM, &yarnpb.AMRMTokenIdentifierProto{
		AppAttemptId: pbconv.ApplicationAttemptIDProto(attempt), KeyId: proto.Int32(-9),
	}))
	if want := (AMRM{Attempt: attempt, KeyID: -9}); err != nil || amrm != want {
		t.Errorf("got %+v, %v", amrm, err)
	}
	node := records.NodeID{Host: "h", Port: 1}
	nm, err := DecodeNM(token(t, creds.KindNM, &yarnpb.NMTokenIdentifierProto{
		AppAttemptId: pbconv.ApplicationAttemptIDProto(attempt), NodeId: pbconv.NodeIDProto(node),
		AppSubmitter: proto.String("alice"), KeyId: proto.Int32(3),
	}))
	if want := (NM{Attempt: attempt, Node: node, Submitter: "alice", KeyID: 3}); err != nil || nm != want {
		t.Errorf("got %+v, %v", nm, err)
	}
	container, err := DecodeContainer(token(t, creds.KindContainer, &yarnpb.ContainerTokenIdentifierProto{
		ContainerId: pbconv.ContainerIDProto(records.ContainerID{Attempt: attempt, ID: 8}), NmHostAddr: proto.String("h:1"),
		ExpiryTimeStamp: proto.Int64(1000), Priority: pbconv.PriorityProto(2),
	}))
	want := Container{
		ID: records.ContainerID{Attempt: attempt, ID: 8}, NodeAddress: "h:1",
		Expires: time.UnixMilli(1000), Priority: 2, KeyID: -1,
	}
	if err != nil || container != want {
		t.Errorf("got %+v, %v, want %+v", container, err, want)
	}
	client, err := DecodeClientToAM(token(t, creds.KindClientToAM, &yarnpb.ClientToAMTokenIdentifierProto{
		AppAttemptId: pbconv.ApplicationAttemptIDProto(attempt), ClientName: proto.String("bob"),
	}))
	if want := (ClientToAM{Attempt: attempt, Client: "bob"}); err != nil || client != want {
		t.Errorf("got %+v, %v", client, err)
	}
	rm, err := DecodeDelegation(token(t, creds.KindRMDelegation, &yarnpb.YARNDelegationTokenIdentifierProto{
		Owner: proto.String("alice"), Renewer: proto.String("yarn"), IssueDate: proto.Int64(1), MaxDate: proto.Int64(2),
		SequenceNumber: proto.Int32(3), MasterKeyId: proto.Int32(4),
	}))
	wantRM := Delegation{Owner: "alice", Renewer: "yarn", Issued: time.UnixMilli(1), Max: time.UnixMilli(2), Sequence: 3, KeyID: 4}
	if err != nil || rm != wantRM {
		t.Errorf("got %+v, %v", rm, err)
	}
}

// The bytes are from DelegationTokenIdentifier of Hadoop 3.4.3.
const hdfsIdentifier = "0005616c696365047961726e0570726f78798a01a1fd2bba068a01a221383e068e012c02"

func TestHDFSIdentifiersAreThoseOfHadoop(t *testing.T) {
	b, err := hex.DecodeString(hdfsIdentifier)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeDelegation(&creds.Token{Kind: creds.KindHDFSDelegation, Identifier: b})
	want := Delegation{
		Owner: "alice", Renewer: "yarn", RealUser: "proxy",
		Issued: time.UnixMilli(1795248863750), Max: time.UnixMilli(1795853663750), Sequence: 300, KeyID: 2,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestOtherTokensAreErrors(t *testing.T) {
	if got, err := DecodeAMRM(&creds.Token{Kind: creds.KindNM}); !errors.Is(err, ErrKind) {
		t.Errorf("another kind: %v, %v", got, err)
	}
	if got, err := DecodeNM(&creds.Token{Kind: creds.KindNM, Identifier: []byte{0xff}}); !errors.Is(err, ErrFormat) {
		t.Errorf("no protobuf: %v, %v", got, err)
	}
	for name, b := range map[string][]byte{"nothing": nil, "another version": {1}, "cut short": {0, 5, 'a'}} {
		if got, err := DecodeDelegation(&creds.Token{Kind: creds.KindHDFSDelegation, Identifier: b}); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func FuzzHDFSDelegation(f *testing.F) {
	b, err := hex.DecodeString(hdfsIdentifier)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := decodeHDFS(b)
		if err != nil {
			return
		}
		again := append([]byte{0}, writable.AppendText(writable.AppendText(writable.AppendText(nil, d.Owner), d.Renewer), d.RealUser)...)
		for _, n := range []int64{pbconv.Millis(d.Issued), pbconv.Millis(d.Max), int64(d.Sequence), int64(d.KeyID)} {
			again = writable.AppendVLong(again, n)
		}
		if got, err := decodeHDFS(again); err != nil || got != d {
			t.Errorf("%+v became %+v, %v", d, got, err)
		}
	})
}

// "hdfs fetchdt" by default gets a token without a renewer. It would catch such a token that is
// expected to last a week, and expires after a day.
func TestWhatNobodyRenewsEndsWithItsFirstInterval(t *testing.T) {
	issued := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	day, week := issued.Add(24*time.Hour), issued.Add(7*24*time.Hour)
	for name, c := range map[string]struct {
		renewer  string
		interval time.Duration
		want     time.Time
	}{
		"renewed":                        {"rm", 24 * time.Hour, week},
		"not renewed":                    {"", 24 * time.Hour, day},
		"not renewed in a long interval": {"", 24 * 365 * time.Hour, week},
	} {
		if got := (Delegation{Renewer: c.renewer, Issued: issued, Max: week}).Ends(c.interval); !got.Equal(c.want) {
			t.Errorf("%s: ends at %v, want %v", name, got, c.want)
		}
	}
}
