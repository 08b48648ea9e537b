// Package clienttoamtest issues the tokens by which users authenticate to an ApplicationMaster, as
// a ResourceManager does. It is for tests, and starts no goroutine.
package clienttoamtest

import (
	"crypto/hmac"
	"crypto/sha1"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Token issues a client's token for an attempt, with the key that the ResourceManager has given to
// that attempt.
func Token(t testing.TB, key []byte, attempt records.ApplicationAttemptID, client string) *creds.Token {
	t.Helper()
	id, err := proto.Marshal(&yarnpb.ClientToAMTokenIdentifierProto{
		AppAttemptId: &yarnpb.ApplicationAttemptIdProto{
			ApplicationId: &yarnpb.ApplicationIdProto{
				Id: proto.Int32(attempt.Application.ID), ClusterTimestamp: proto.Int64(attempt.Application.ClusterTimestamp),
			},
			AttemptId: proto.Int32(attempt.Attempt),
		},
		ClientName: proto.String(client),
	})
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, key)
	mac.Write(id)
	return &creds.Token{Kind: creds.KindClientToAM, Identifier: id, Password: mac.Sum(nil)}
}
