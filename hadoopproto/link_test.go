package hadoopproto_test

import (
	"testing"

	_ "github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	_ "github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	_ "github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
)

// Every program of Bobbin links both. If a file or message of Bobbin had the name of one
// of theirs, this test, like those programs, would panic at its start.
func TestOurMessagesLiveBesideThoseOfColinmarcHDFS(t *testing.T) {
	for _, path := range []string{"RpcHeader.proto", "bobbin/hadoop/common/rpc_header.proto"} {
		if _, err := protoregistry.GlobalFiles.FindFileByPath(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
