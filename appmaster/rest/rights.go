package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// access is the right that a route needs.
type access int

const (
	view    access = iota + 1 // reads, and changes nothing
	modify                    // changes something
	own                       // reads the owner's data; an attached cluster ends after that
	run                       // runs code as the owner, who may do all of the above
	inspect                   // reads what only users with modify may read, and changes nothing
	anyone                    // is the same for everybody, and needs no proof of identity
)

// ACL names the users who have a right, in the form of Hadoop's AccessControlList: "user1,user2
// group1,group2", "*" for everybody, "" for nobody.
//
// Groups do not count here, because only the ResourceManager knows a user's groups. It decides who may view
// before it issues a token for this door (package clienttoam), and so groups can view as well.
type ACL struct {
	everybody bool
	users     []string
}

// ParseACL reads an ACL. Every text is valid.
func ParseACL(text string) ACL {
	if strings.TrimSpace(text) == "*" {
		return ACL{everybody: true}
	}
	var a ACL
	users, _, _ := strings.Cut(text, " ")
	for user := range strings.SplitSeq(users, ",") {
		if user = strings.TrimSpace(user); user != "" {
			a.users = append(a.users, user)
		}
	}
	return a
}

// names reports whether the ACL names a user.
func (a ACL) names(user string) bool { return user != "" && slices.Contains(a.users, user) }

// allows reports whether a user has the right; "" is a user whose name is not known.
func (a ACL) allows(user string) bool {
	return a.everybody || a.names(user)
}

// Rights are the rights of users who have authenticated. The zero Rights let callers through YARN's proxy
// view, and allow nothing else.
type Rights struct {
	// Owner is the short name of the application's owner. He may do everything, with two exceptions. With a
	// ticket for HTTP he may view, and change what Modify and Admins allow. Through YARN's proxy he may
	// view and, if Proxy.Changes allows it, change.
	Owner string
	// View may view (yarn.view.acls), Modify may cancel jobs and end the cluster (yarn.modify.acls), and
	// Admins may do both (yarn.admin.acl). Only the owner may fetch results, and users to whom Shared gives
	// all rights.
	View, Modify, Admins ACL
	// Shared says that users whom Modify names may run programs, as in a session. Programs run as the
	// owner, so these users may do everything that he may. An ACL of "*" does not give this right, and
	// neither does a ticket for HTTP.
	Shared bool
	// Enforced says that only users who may view can view through YARN's proxy too.
	Enforced bool
}

// caller is the sender of a request.
type caller struct {
	name    string // short name; "" if it is not proven
	token   bool   // sends the owner's token
	viewer  bool   // YARN lets him view
	proxied bool   // comes through YARN's proxy
	// ticket says that the proof of the name is a ticket for a service whose key is not the owner's. The
	// holder of that key can forge a ticket in any name. On nodes where containers of all users run as one
	// user, each container can read the key.
	ticket bool
	// stranger says that nothing is known of the sender, who may use only what anyone may.
	stranger bool
	// link is the key of the link by which the request comes (browsers); zero: by none.
	link digest
	// browser says that a cookie names the user. csrf says that the request also has the value that belongs to the
	// cookie. A cookie alone proves little: browsers send it to all ports of a host, and so to the ApplicationMasters
	// of other users on the same node. So with the cookie alone, a browser may only view.
	browser, csrf bool
	until         time.Time // the end of the cookie
}

// views reports whether a caller may only view, whatever the user's rights are.
func (c caller) views() bool { return c.browser && !c.csrf }

func (c caller) String() string {
	switch {
	case c.name != "":
		return "user " + c.name
	case c.token:
		return "the holder of the cluster's token"
	}
	return "a user whose name is unknown"
}

func (g Rights) allow(c caller, need access) bool {
	switch {
	case need == anyone:
		return true
	case c.stranger || c.views() && need != view:
		return false
	case g.whole(c):
		return true
	}
	switch need {
	case view:
		return c.viewer || c.proxied && !g.Enforced || g.View.allows(c.name) || g.Admins.allows(c.name) || g.owns(c.name)
	case modify, inspect:
		return c.name != "" && (g.Modify.allows(c.name) || g.Admins.allows(c.name) || c.proxied && g.owns(c.name))
	case own, run, anyone:
	}
	return false
}

// any reports whether a caller has any right.
func (g Rights) any(c caller) bool { return g.allow(c, view) || g.allow(c, modify) }

func (g Rights) owns(name string) bool { return name != "" && name == g.Owner }

// all reports whether a caller has all rights: the owner, or a user who may run programs as the owner. A
// caller through YARN's proxy never has them, because other users' processes may run on the proxy's node.
func (g Rights) all(c caller) bool { return !c.views() && g.whole(c) }

// whole reports whether the user of a caller has all rights.
func (g Rights) whole(c caller) bool {
	return c.token || !c.ticket && !c.proxied && (g.owns(c.name) || g.Shared && g.Modify.names(c.name))
}

// permit returns an error if a caller lacks the right to a route.
func (s *Server) permit(r *http.Request, c caller, need access) error {
	if need == anyone {
		return nil
	}
	if c.views() && (need != view || !gets(r)) {
		return &refusal{http.StatusForbidden, fmt.Sprintf("with its cookie alone, a browser may only view the cluster: the page sends the header %s for everything else, if the browser has come by a link: %s", restapi.HeaderCSRF, s.way())}
	}
	if need != view || c.browser && !gets(r) {
		if err := s.checkOrigin(r, c, need); err != nil {
			return err
		}
	}
	if s.config.Rights.allow(c, need) {
		return nil
	}
	if need != view && c.ticket && s.config.Rights.all(caller{name: c.name}) {
		return &refusal{http.StatusForbidden, fmt.Sprintf("with a ticket for HTTP, %s may only view the cluster, and change it if yarn.modify.acls allows it; programs and results need the cluster's token or a token of YARN: use the bobbin command", c)}
	}
	switch need {
	case view:
		return &refusal{http.StatusForbidden, fmt.Sprintf("%s may not view this application: its owner can allow it with yarn.view.acls", c)}
	case modify, inspect:
		return &refusal{http.StatusForbidden, fmt.Sprintf("%s may not change this application: its owner can allow it with yarn.modify.acls", c)}
	case run:
		return &refusal{http.StatusForbidden, fmt.Sprintf("%s may not run programs here, because they run as the application's owner: the owner can allow it with yarn.modify.acls", c)}
	default:
		return &refusal{http.StatusForbidden, fmt.Sprintf("%s may not fetch results: only the application's owner may, and in a session the users in yarn.modify.acls", c)}
	}
}
