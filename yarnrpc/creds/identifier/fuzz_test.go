package identifier

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// FuzzIdentifiers reads the bytes as the identifier of every kind of token. It
// would catch bytes that crash a login or a log line about it, and a kind that is
// read as another.
func FuzzIdentifiers(f *testing.F) {
	for _, p := range []proto.Message{
		&yarnpb.AMRMTokenIdentifierProto{AppAttemptId: &yarnpb.ApplicationAttemptIdProto{AttemptId: proto.Int32(1)}, KeyId: proto.Int32(2)},
		&yarnpb.NMTokenIdentifierProto{NodeId: &yarnpb.NodeIdProto{Host: proto.String("h"), Port: proto.Int32(1)}, AppSubmitter: proto.String("alice")},
		&yarnpb.ContainerTokenIdentifierProto{NmHostAddr: proto.String("h:1"), ExpiryTimeStamp: proto.Int64(1410901177871)},
		&yarnpb.YARNDelegationTokenIdentifierProto{Owner: proto.String("alice"), MaxDate: proto.Int64(-1)},
	} {
		b, err := proto.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0, 5, 'a'})
	decoders := map[string]func(*creds.Token) error{
		creds.KindAMRM:       func(t *creds.Token) error { _, err := DecodeAMRM(t); return err },
		creds.KindNM:         func(t *creds.Token) error { _, err := DecodeNM(t); return err },
		creds.KindContainer:  func(t *creds.Token) error { _, err := DecodeContainer(t); return err },
		creds.KindClientToAM: func(t *creds.Token) error { _, err := DecodeClientToAM(t); return err },
		creds.KindRMDelegation: func(t *creds.Token) error {
			d, err := DecodeDelegation(t)
			if err == nil && (d.Issued.UnixMilli() < 0 && !d.Issued.IsZero() || d.Max.UnixMilli() < 0 && !d.Max.IsZero()) {
				return errors.New("a time before 1970")
			}
			return err
		},
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for kind, decode := range decoders {
			if err := decode(&creds.Token{Kind: kind, Identifier: b}); err != nil && !errors.Is(err, ErrFormat) {
				t.Errorf("%s: error %v is not ErrFormat", kind, err)
			}
			if err := decode(&creds.Token{Kind: kind + "2", Identifier: b}); !errors.Is(err, ErrKind) {
				t.Errorf("token of another kind than %s: %v, want ErrKind", kind, err)
			}
		}
	})
}
