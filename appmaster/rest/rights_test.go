package rest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestACLsAreReadAsHadoopReadsThem would catch a group that counts as a user of the same name.
func TestACLsAreReadAsHadoopReadsThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ACL{
		"":                     {},
		" ":                    {},
		" staff":               {},
		"bob":                  {users: []string{"bob"}},
		"bob,carol":            {users: []string{"bob", "carol"}},
		"bob,,carol, ":         {users: []string{"bob", "carol"}},
		"bob staff,admin":      {users: []string{"bob"}},
		"*":                    {everybody: true},
		" * ":                  {everybody: true},
		"bob,*":                {users: []string{"bob", "*"}},
		"bob, carol admin dba": {users: []string{"bob"}},
	} {
		if diff := cmp.Diff(want, ParseACL(text), cmp.AllowUnexported(ACL{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if ParseACL("bob,*").allows("carol") || ParseACL("").allows("") || !ParseACL("*").allows("") {
		t.Error("an ACL lets in whom it does not name, or nobody where it names everybody")
	}
}

// TestRights lists which caller has which rights. Each line would catch a caller who gets more.
func TestRights(t *testing.T) {
	t.Parallel()
	rights := Rights{Owner: "alice", View: ParseACL("bob"), Modify: ParseACL("carol"), Admins: ParseACL("root"), Enforced: true}
	open := rights
	open.Enforced = false
	shared := rights
	shared.Shared = true
	all := Rights{Owner: "alice", View: ParseACL("*"), Modify: ParseACL("*"), Enforced: true}
	for name, test := range map[string]struct {
		rights Rights
		caller caller
		want   string // view, modify, own
	}{
		"the holder of the token":                          {rights, caller{token: true}, "true true true"},
		"the owner":                                        {rights, caller{name: "alice"}, "true true true"},
		"who is in the view ACL":                           {rights, caller{name: "bob"}, "true false false"},
		"who is in the modify ACL":                         {rights, caller{name: "carol"}, "false true false"},
		"who is in it and whom YARN let look":              {rights, caller{name: "carol", viewer: true}, "true true false"},
		"an administrator":                                 {rights, caller{name: "root"}, "true true false"},
		"whom YARN let look":                               {rights, caller{name: "dave", viewer: true}, "true false false"},
		"somebody":                                         {rights, caller{name: "dave"}, "false false false"},
		"nobody":                                           {rights, caller{}, "false false false"},
		"nobody by the proxy":                              {rights, caller{proxied: true}, "false false false"},
		"nobody by the proxy of an open cluster":           {open, caller{proxied: true}, "true false false"},
		"bob by the proxy":                                 {rights, caller{name: "bob", proxied: true}, "true false false"},
		"the owner by the proxy":                           {rights, caller{name: "alice", proxied: true}, "true true false"},
		"who runs programs, by the proxy":                  {shared, caller{name: "carol", proxied: true}, "false true false"},
		"who runs programs":                                {shared, caller{name: "carol"}, "true true true"},
		"somebody where everybody may":                     {all, caller{name: "dave"}, "true true false"},
		"nobody where everybody may":                       {all, caller{proxied: true}, "true false false"},
		"nobody of an application of nobody":               {Rights{Enforced: true}, caller{}, "false false false"},
		"the owner with a ticket for HTTP":                 {rights, caller{name: "alice", ticket: true}, "true false false"},
		"the owner with one, where an ACL names everybody": {all, caller{name: "alice", ticket: true}, "true true false"},
		"who is in the view ACL, with one":                 {rights, caller{name: "bob", ticket: true}, "true false false"},
		"who is in the modify ACL, with one":               {rights, caller{name: "carol", ticket: true}, "false true false"},
		"an administrator with one":                        {rights, caller{name: "root", ticket: true}, "true true false"},
		"somebody with one":                                {rights, caller{name: "dave", ticket: true}, "false false false"},
		"the owner by a cookie alone":                      {rights, caller{name: "alice", browser: true}, "true false false"},
		"the holder of the token by one":                   {rights, caller{token: true, browser: true}, "true false false"},
		"who is in the modify ACL by one":                  {rights, caller{name: "carol", browser: true}, "false false false"},
		"who runs programs by one":                         {shared, caller{name: "carol", browser: true}, "true false false"},
		"the owner by a cookie and its value":              {rights, caller{name: "alice", browser: true, csrf: true}, "true true true"},
		"who is in the view ACL by both":                   {rights, caller{name: "bob", browser: true, csrf: true}, "true false false"},
		"the owner by both, of a link by a ticket":         {rights, caller{name: "alice", ticket: true, browser: true, csrf: true}, "true false false"},
		"a stranger where everybody may":                   {all, caller{stranger: true}, "false false false"},
	} {
		got := fmt.Sprint(test.rights.allow(test.caller, view), test.rights.allow(test.caller, modify), test.rights.allow(test.caller, own))
		if got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
