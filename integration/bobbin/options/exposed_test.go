package options

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
)

// TestAnAreaThatOthersMayWriteToIsRefused makes the directories of a user's programs on HDFS
// writable for others, one after the other. It would catch a job whose containers run another
// user's file, a refusal without a remedy, and a false refusal: HDFS reports an ACL's mask as the
// group's rights.
func TestAnAreaThatOthersMayWriteToIsRefused(t *testing.T) {
	t.Parallel()
	u := suite.Newcomer(t)
	hdfs := rpctest.HDFS(t, u.Cluster)
	dir := u.Scratch(t)
	u.Put(t, suite.Generate(t, "-size", "20k", "-files", "1"), dir+"/text")
	count := func(output string) bobbintest.Outcome {
		return u.Run(t, bobbintest.Small(suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", dir+"/"+output)...)
	}
	if got := count("first"); got.Code != 0 {
		t.Fatal(got)
	}
	set := func(path, owner, permission string) {
		t.Helper()
		if err := hdfs.Mkdir(t.Context(), path, owner, permission); err != nil {
			t.Fatal(err)
		}
	}
	home := "/user/" + u.Name
	area, cache := home+"/.bobbin", home+"/.bobbin/cache"
	for _, c := range []struct {
		name, path, owner, permission, acl string
		says                               []string
	}{
		{"home", home, u.Name, "777", "", []string{"drwxrwxrwx", "hadoop fs -chmod o-w"}},
		{"area", area, u.Name, "770", "", []string{"drwxrwx---", "hadoop fs -chmod go-w"}},
		{"anothers_area", area, clusters.Bob, "777", "", []string{"owner " + clusters.Bob, "hadoop fs -rm -r"}},
		{"cache", cache, u.Name, "775", "", []string{"drwxrwxr-x", "hadoop fs -chmod go-w"}},
		{"acl", cache, u.Name, "700", "user:" + clusters.Bob + ":rwx", []string{"drwxrwx---", "hadoop fs -setfacl -b"}},
	} {
		set(c.path, c.owner, c.permission)
		if c.acl != "" {
			if err := hdfs.ModifyACL(t.Context(), c.path, c.acl); err != nil {
				t.Fatal(err)
			}
		}
		got := count(c.name)
		for _, text := range append(c.says, c.path+" ", "yarn.staging-directory") {
			if got.Code != 1 || !strings.Contains(got.Stderr, text) {
				t.Errorf("%s: %q is not in %s", c.name, text, got)
			}
		}
		if c.acl != "" {
			if err := hdfs.RemoveACL(t.Context(), c.path); err != nil {
				t.Fatal(err)
			}
		}
		set(c.path, u.Name, "700")
		if left := u.Staging(t).Applications; len(left) > 0 {
			t.Errorf("%s: the refused job leaves %v", c.name, left)
		}
	}
	if err := hdfs.ModifyACL(t.Context(), cache, "user:"+clusters.Bob+":r-x"); err != nil { // bob may only look
		t.Fatal(err)
	}
	if got := count("last"); got.Code != 0 {
		t.Error(got)
	}
}
