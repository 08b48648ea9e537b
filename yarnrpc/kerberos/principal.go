package kerberos

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Principal is a Kerberos name of the shape that Hadoop uses: service/host@REALM, or
// user@REALM. It is comparable. The zero value is no principal.
type Principal struct {
	Service string // the first component: "rm", or the name of a user
	Host    string // the second one, with any further ones after slashes; "" for a user
	Realm   string // "" stands for the default realm
}

// ErrMalformedPrincipal says that a text is no principal.
var ErrMalformedPrincipal = errors.New("malformed Kerberos principal: write it as user@REALM or service/host@REALM")

// ParsePrincipal reads a principal as KerberosName does: at most two components,
// with or without a realm. The error wraps ErrMalformedPrincipal.
func ParsePrincipal(text string) (Principal, error) {
	name, realm, hasRealm := strings.Cut(text, "@")
	service, host, hasHost := strings.Cut(name, "/")
	switch {
	case service == "", hasHost && host == "", hasRealm && realm == "", strings.ContainsAny(host+realm, "/@"):
		return Principal{}, fmt.Errorf("principal %q: %w", text, ErrMalformedPrincipal)
	}
	return Principal{Service: service, Host: host, Realm: realm}, nil
}

// Name returns the part before the realm: "user" or "service/host".
func (p Principal) Name() string {
	if p.Host == "" {
		return p.Service
	}
	return p.Service + "/" + p.Host
}

// String returns the whole name, in the form that ParsePrincipal reads.
func (p Principal) String() string {
	if p.Realm == "" {
		return p.Name()
	}
	return p.Name() + "@" + p.Realm
}

// hostPattern stands for the server's host in configured principals
// (SecurityUtil#HOSTNAME_PATTERN).
const hostPattern = "_HOST"

// ServerPrincipal replaces _HOST in a configured principal such as "rm/_HOST@EXAMPLE.COM"
// by a host name in lower case (SecurityUtil#getServerPrincipal). Other principals do not
// change. host is called only if its result is needed. It returns the canonical name of
// the server's address, or this machine's name if the principal is this machine's own.
func ServerPrincipal(configured string, host func() (string, error)) (string, error) {
	parts := strings.FieldsFunc(configured, func(c rune) bool { return c == '/' || c == '@' })
	separators := strings.Count(configured, "/") + strings.Count(configured, "@")
	if len(parts) != 3 || separators != 2 || parts[1] != hostPattern {
		return configured, nil
	}
	name, err := host()
	if err == nil && name == "" {
		err = errors.New("no name found")
	}
	if err != nil {
		return "", fmt.Errorf("resolve %s in principal %s: %w", hostPattern, configured, err)
	}
	return parts[0] + "/" + strings.ToLower(name) + "@" + parts[2], nil
}

// ServerMismatchError says that a server advertises another principal than the
// configuration demands. The client must send nothing to it.
type ServerMismatchError struct {
	Advertised string
	Want       string // the principal or pattern, "" when none is configured
	Property   string // the property with the value Want; "" if unknown
}

// Error names both principals and the remedy. Servers do not advertise their realm: the client
// gets it from the host and krb5.conf.
func (e *ServerMismatchError) Error() string {
	wants := "the Hadoop configuration wants"
	if e.Property != "" {
		wants = e.Property + " is"
	}
	advertised, realm, _ := strings.Cut(e.Advertised, "@")
	name, wantedRealm, _ := strings.Cut(e.Want, "@")
	switch {
	case e.Want == "" && e.Property != "":
		return fmt.Sprintf("server advertises Kerberos principal %s, but %s is not set: add it to the site file, with the cluster's value", e.Advertised, e.Property)
	case e.Want == "":
		return fmt.Sprintf("server advertises Kerberos principal %s, but the Hadoop configuration has no principal for it: set it in the site file", e.Advertised)
	case name == advertised && wantedRealm != "":
		return fmt.Sprintf("server %s is in realm %s according to krb5.conf, but %s %s: correct [domain_realm] or default_realm of krb5.conf, or set KRB5_CONFIG to another file", advertised, realm, wants, e.Want)
	}
	return fmt.Sprintf("server advertises Kerberos principal %s, but %s %s: correct the site file, or the reverse DNS of the server", e.Advertised, wants, e.Want)
}

// Server is the principal that a Hadoop configuration demands of a protocol's servers. The
// zero value matches no server.
type Server struct {
	// Principal is primary/host@REALM, where _HOST stands for the server's own host:
	// the value of the protocol's property, such as yarn.resourcemanager.principal.
	Principal string
	// Pattern, if not empty, replaces Principal. It is a glob with *, ?, [a-z], [!a] and
	// {a,b}, which must match the whole name (the same property with .pattern).
	Pattern string
	// Property is the name of the property that sets Principal, for errors. Empty:
	// unknown.
	Property string
}

// Check compares the principal that a server advertises, with its realm, to the required
// one (SaslRpcClient#getServerPrincipal). host is as for ServerPrincipal. The error is a
// *ServerMismatchError if they differ.
func (s Server) Check(advertised string, host func() (string, error)) error {
	if s.Pattern != "" {
		glob, err := compileGlob(s.Pattern)
		if err != nil {
			return fmt.Errorf("check server principal %s: %w", advertised, err)
		}
		if !glob.MatchString(advertised) {
			return s.mismatch(advertised, s.Pattern)
		}
		return nil
	}
	want, err := ServerPrincipal(s.Principal, host)
	if err != nil {
		return fmt.Errorf("check server principal %s: %w", advertised, err)
	}
	if want == "" {
		return s.mismatch(advertised, "")
	}
	principal, err := ParsePrincipal(want)
	if err != nil {
		return fmt.Errorf("check server principal %s: %w", advertised, err)
	}
	if principal.Host == "" || advertised != want {
		return s.mismatch(advertised, want)
	}
	return nil
}

func (s Server) mismatch(advertised, want string) error {
	return &ServerMismatchError{Advertised: advertised, Want: want, Property: s.Property}
}

// compileGlob turns a pattern of org.apache.hadoop.fs.GlobPattern into a regular
// expression for the whole text.
func compileGlob(glob string) (*regexp.Regexp, error) {
	var expression strings.Builder
	groups, set := 0, false
	for i := 0; i < len(glob); i++ {
		c := glob[i]
		switch {
		case c == '\\':
			if i++; i == len(glob) {
				return nil, fmt.Errorf("pattern %q ends in a backslash", glob)
			}
			expression.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		case set:
			if c == '!' && glob[i-1] == '[' {
				c = '^'
			}
			set = c != ']'
			expression.WriteByte(c)
		case c == '[':
			set = true
			expression.WriteByte(c)
		case c == '*':
			expression.WriteString(".*")
		case c == '?':
			expression.WriteByte('.')
		case c == '{':
			groups++
			expression.WriteString("(?:")
		case c == '}' && groups > 0:
			groups--
			expression.WriteByte(')')
		case c == ',' && groups > 0:
			expression.WriteByte('|')
		default:
			expression.WriteString(quoteByte(c))
		}
	}
	if set || groups > 0 {
		return nil, fmt.Errorf("pattern %q has an open [ or {", glob)
	}
	compiled, err := regexp.Compile(`(?s)\A(?:` + expression.String() + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", glob, err)
	}
	return compiled, nil
}

// quoteByte returns a byte of the pattern that stands for itself. The bytes of non-ASCII
// letters stay unchanged.
func quoteByte(c byte) string {
	if c < 0x80 {
		return regexp.QuoteMeta(string(rune(c)))
	}
	return string([]byte{c})
}
