package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// access says which right a route takes.
type access int

const (
	view   access = iota + 1 // looks and changes nothing
	modify                   // changes something
	own                      // gives the owner's data away, and ends what waits for that
	run                      // runs code as the owner, who may do all of the above
)

// ACL says who has a right, in the form of Hadoop's AccessControlList:
// "user1,user2 group1,group2", "*" for everybody, "" for nobody.
//
// Groups do not count here: which groups a user is in is for the
// ResourceManager to know. It decides who may view before it issues a token for
// this door (package clienttoam), and so views are open to groups as well.
type ACL struct {
	everybody bool
	users     []string
}

// ParseACL reads an ACL. Every text is one.
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

// names tells whether a user has the right by his own name.
func (a ACL) names(user string) bool { return user != "" && slices.Contains(a.users, user) }

// allows tells whether a user has the right; "" is somebody whose name is not
// known.
func (a ACL) allows(user string) bool {
	return a.everybody || a.names(user)
}

// Rights say what users may who have proven who they are. Of whom nothing is
// known, the zero Rights let look who comes by YARN's proxy, and let nobody
// else do anything.
type Rights struct {
	// Owner is the short name of whose application it is. He may do everything, but for what he
	// asks with a ticket for HTTP: then he may look, and change what Modify and Admins say. By YARN's
	// proxy he may look and, where Proxy.Changes allows it, change.
	Owner string
	// View may look (yarn.view.acls), Modify may cancel jobs and end the
	// cluster (yarn.modify.acls), and Admins both (yarn.admin.acl). Results are
	// the owner's alone.
	View, Modify, Admins ACL
	// Shared says that users whom Modify names may run programs, as a session's may.
	// Programs run as the owner, so that these users may do all that he may. Who is
	// somebody to whom an ACL is open that names everybody must not be as much, nor who
	// comes with a ticket for HTTP.
	Shared bool
	// Enforced says that YARN's proxy, too, shows the application only to those
	// who may look.
	Enforced bool
}

// caller is who asks.
type caller struct {
	name    string // short name; "" where nobody vouches for one
	token   bool   // shows the owner's token
	viewer  bool   // YARN has let him look
	proxied bool   // comes by YARN's proxy
	// ticket says that a ticket for a service vouches for the name, whose key is not the owner's: whoever has that
	// key can make a ticket in any name, and on nodes where containers of all users run as one, each of them has it.
	ticket bool
}

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
	if g.all(c) {
		return true
	}
	switch need {
	case view:
		return c.viewer || c.proxied && !g.Enforced || g.View.allows(c.name) || g.Admins.allows(c.name) || g.owns(c.name)
	case modify:
		return c.name != "" && (g.Modify.allows(c.name) || g.Admins.allows(c.name) || c.proxied && g.owns(c.name))
	case own, run:
	}
	return false
}

// any tells whether somebody may do anything at all.
func (g Rights) any(c caller) bool { return g.allow(c, view) || g.allow(c, modify) }

func (g Rights) owns(name string) bool { return name != "" && name == g.Owner }

// all tells whether somebody has all rights: the owner, or a user who may run programs as the owner. Nobody has them by
// YARN's proxy, whose node may run processes of others.
func (g Rights) all(c caller) bool {
	return c.token || !c.ticket && !c.proxied && (g.owns(c.name) || g.Shared && g.Modify.names(c.name))
}

// permit is an error for a caller who lacks the right to a route.
func (s *Server) permit(r *http.Request, c caller, need access) error {
	if need != view {
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
	case modify:
		return &refusal{http.StatusForbidden, fmt.Sprintf("%s may not change this application: its owner can allow it with yarn.modify.acls", c)}
	case run:
		return &refusal{http.StatusForbidden, fmt.Sprintf("%s may not run programs here, because they run as the application's owner: the owner can allow it with yarn.modify.acls", c)}
	default:
		return &refusal{http.StatusForbidden, fmt.Sprintf("%s may not fetch results: only the application's owner may, and in a session the users in yarn.modify.acls", c)}
	}
}
