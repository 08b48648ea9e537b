package appmaster

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/testing/credstest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// secured is the part of a Kerberized cluster's configuration that concerns names.
func secured() map[string]string {
	return map[string]string{
		"hadoop.security.authentication": "kerberos",
		"yarn.resourcemanager.principal": "rm/_HOST@EXAMPLE.ORG",
	}
}

// carriedConf is a configuration in the form in which a client sends it.
func carriedConf(t *testing.T, properties map[string]string) *hadoopconf.Conf {
	t.Helper()
	empty, err := hadoopconf.Parse([]byte("<configuration/>"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := empty.With("test", properties).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	conf, err := hadoopconf.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// TestRightsAreThoseOfOptionsAndYARN would catch an ACL of YARN's default, which is
// everybody, that makes everybody an administrator.
func TestRightsAreThoseOfOptionsAndYARN(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options, hadoop map[string]string
		want            rest.Rights
	}{
		"an open cluster":       {nil, nil, rest.Rights{}},
		"a cluster of Kerberos": {nil, secured(), rest.Rights{}},
		"with ACLs in use":      {nil, with(secured(), "yarn.acl.enable", "true"), rest.Rights{Enforced: true}},
		"with administrators": {
			nil,
			with(secured(), "yarn.acl.enable", "true", "yarn.admin.acl", "root wheel"),
			rest.Rights{Enforced: true, Admins: rest.ParseACL("root")},
		},
		"with administrators that ACLs do not name": {nil, with(secured(), "yarn.admin.acl", "root"), rest.Rights{}},
		"an open one with ACLs":                     {nil, map[string]string{"yarn.acl.enable": "true", "yarn.admin.acl": "*"}, rest.Rights{}},
		"with ACLs of its own": {
			map[string]string{"yarn.view.acls": "bob", "yarn.modify.acls": "carol"},
			secured(),
			rest.Rights{Enforced: true, View: rest.ParseACL("bob"), Modify: rest.ParseACL("carol")},
		},
		"with an ACL that names nobody": {map[string]string{"yarn.view.acls": ""}, secured(), rest.Rights{Enforced: true}},
	} {
		options, err := config.New(config.Layer{Source: "test", Values: test.options})
		if err != nil {
			t.Fatal(err)
		}
		got, err := rightsOf("alice", options, carriedConf(t, test.hadoop))
		if err != nil {
			t.Fatal(err)
		}
		test.want.Owner = "alice"
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(rest.ACL{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := rightsOf("alice", config.Config{}, carriedConf(t, map[string]string{"yarn.acl.enable": "maybe"})); err == nil {
		t.Error("yarn.acl.enable may be maybe")
	}
}

func with(properties map[string]string, more ...string) map[string]string {
	properties = maps.Clone(properties)
	for i := 0; i < len(more); i += 2 {
		properties[more[i]] = more[i+1]
	}
	return properties
}

// TestDoorsOpenWithKerberosAlone would catch names that are trusted on a cluster where every user can claim
// any name.
func TestDoorsOpenWithKerberosAlone(t *testing.T) {
	t.Parallel()
	env := testEnvironment(t, "file:///staging")
	open, err := doors(t.Context(), env, quiet())
	if err != nil || open.ClientToAM != nil || open.Negotiator != nil || open.Proxy.Users {
		t.Errorf("an open cluster has doors %+v, %v", open, err)
	}
	env.hadoop = carriedConf(t, with(secured(),
		"hadoop.http.authentication.type", "kerberos", "yarn.resourcemanager.hostname", "127.0.0.1",
		"hadoop.security.auth_to_local", "RULE:[1:$1@$0](.*@AD.EXAMPLE.ORG)s/@.*//L\nDEFAULT"))
	c, err := doors(t.Context(), env, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if c.ClientToAM == nil || !c.Proxy.Users || c.Proxy.Changes || c.Rights.Owner != "alice" {
		t.Errorf("a cluster of Kerberos has doors %+v", c)
	}
	if diff := cmp.Diff([]string{"127.0.0.1:8088"}, c.Proxy.Origins); diff != "" {
		t.Errorf("origins of the proxy (-want +got):\n%s", diff)
	}
	for principal, want := range map[string]string{"bob@EXAMPLE.ORG": "bob", "Bob@AD.EXAMPLE.ORG": "bob", "bob": "bob", "bob@EVIL.ORG": ""} {
		if got, err := c.ShortName(principal); got != want || (err == nil) != (want != "") {
			t.Errorf("%s is %q, %v, want %q", principal, got, err, want)
		}
	}

	env.hadoop = carriedConf(t, with(secured(), "hadoop.security.secret-manager.key-generator.algorithm", "HmacMD5"))
	if _, err := doors(t.Context(), env, quiet()); err == nil || !strings.Contains(err.Error(), "HmacMD5") {
		t.Errorf("passwords that cannot be checked: %v", err)
	}
}

// TestAnHTTPKeytabIsReadAtTheStart would catch a missing keytab that is only noticed at the first user's
// request.
func TestAnHTTPKeytabIsReadAtTheStart(t *testing.T) {
	t.Parallel()
	env := testEnvironment(t, "file:///staging")
	path := filepath.Join(t.TempDir(), "http.keytab")
	var err error
	if env.config, err = config.New(config.Layer{Source: "test", Values: map[string]string{config.RESTKeytab.Name(): path}}); err != nil {
		t.Fatal(err)
	}
	if _, err := doors(t.Context(), env, quiet()); err == nil || !strings.Contains(err.Error(), config.RESTKeytab.Name()) {
		t.Errorf("on an open cluster: %v", err)
	}
	env.hadoop = carriedConf(t, secured())
	if _, err := doors(t.Context(), env, quiet()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("without the file: %v", err)
	}
	credstest.Keytab(t, path, "HTTP/127.0.0.1@EXAMPLE.ORG")
	if c, err := doors(t.Context(), env, quiet()); err != nil || c.Negotiator == nil {
		t.Errorf("with the file: %+v, %v", c.Negotiator, err)
	}
}
