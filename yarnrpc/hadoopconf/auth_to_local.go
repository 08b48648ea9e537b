package hadoopconf

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ErrNoRule is wrapped by the error of ShortNames.Short for a principal to which no
// rule of hadoop.security.auth_to_local applies.
var ErrNoRule = errors.New("no rule of hadoop.security.auth_to_local applies")

// ShortNames maps Kerberos principals to the user names of the cluster
// (org.apache.hadoop.security.authentication.util.KerberosName). It is immutable; any
// number of goroutines may use it.
type ShortNames struct {
	rules        []nameRule
	defaultRealm string
	mit          bool
}

// ShortNames reads hadoop.security.auth_to_local and
// hadoop.security.auth_to_local.mechanism, as HadoopKerberosName.setConfiguration
// does. Without rules, it accepts only names of the default realm if Kerberos is
// enabled, and all names otherwise. The error is a *ValueError.
func (c *Conf) ShortNames(defaultRealm string) (*ShortNames, error) {
	const rulesKey, mechanismKey = "hadoop.security.auth_to_local", "hadoop.security.auth_to_local.mechanism"
	rules, ok, err := c.Lookup(rulesKey)
	if err != nil {
		return nil, err
	}
	if !ok {
		rules = "DEFAULT"
		if !c.SecurityEnabled() {
			rules = "RULE:[1:$1] RULE:[2:$1]"
		}
	}
	mechanism, _, err := c.Lookup(mechanismKey)
	if err != nil {
		return nil, err
	}
	n := &ShortNames{defaultRealm: defaultRealm}
	switch strings.ToLower(mechanism) {
	case "", "hadoop":
	case "mit":
		n.mit = true
	default:
		return nil, c.valueError(mechanismKey, mechanism, "hadoop or MIT")
	}
	if n.rules, err = parseNameRules(rules); err != nil {
		return nil, c.valueError(rulesKey, rules, "rules such as RULE:[2:$1@$0](nn@.*)s/@.*// and DEFAULT: "+err.Error())
	}
	return n, nil
}

// Short returns the user name of a principal (KerberosName#getShortName). A name
// without host and realm is its own user name. With the mechanism hadoop, the error
// wraps ErrNoRule if no rule applies; it is also an error if a rule's result contains
// "/" or "@". With the mechanism MIT, the user name is the principal itself in these
// cases.
func (n *ShortNames) Short(principal string) (string, error) {
	parts, simple, err := splitPrincipal(principal)
	if err != nil || simple {
		return principal, err
	}
	for _, rule := range n.rules {
		result, ok, err := rule.apply(parts, n.defaultRealm)
		if err != nil {
			return "", fmt.Errorf("map principal %s with %s: %w", principal, rule.text, err)
		}
		if !ok {
			continue
		}
		if !n.mit && strings.ContainsAny(result, "/@") {
			return "", fmt.Errorf("map principal %s: rule %s returns %s, which is not a simple name: make the rule remove the host and the realm", principal, rule.text, result)
		}
		if rule.lower {
			result = strings.ToLower(result)
		}
		return result, nil
	}
	if n.mit {
		return principal, nil
	}
	return "", fmt.Errorf("map principal %s: %w: add a rule for its realm", principal, ErrNoRule)
}

// noRealm replaces the realm of a name without one: the text of Java's null.
const noRealm = "null"

// splitPrincipal returns $0 (the realm), $1 and, if there is a host, $2. simple says that
// the name needs no rule.
func splitPrincipal(principal string) (parts []string, simple bool, err error) {
	name, realm, hasRealm := strings.Cut(principal, "@")
	service, host, hasHost := strings.Cut(name, "/")
	malformed := service == "" || hasHost && host == "" || hasRealm && realm == "" || strings.ContainsAny(host+realm, "/@")
	switch {
	case malformed && hasRealm:
		return nil, false, fmt.Errorf("map principal %s: write it as user@REALM or service/host@REALM", principal)
	case malformed, !hasRealm && !hasHost:
		return nil, true, nil
	}
	if !hasRealm {
		realm = noRealm
	}
	parts = []string{realm, service}
	if hasHost {
		parts = append(parts, host)
	}
	return parts, false, nil
}

// nameRule is "DEFAULT", or "RULE:[components:format](match)s/from/to/g/L".
type nameRule struct {
	text       string // as written
	isDefault  bool
	components int
	format     string
	match      *regexp.Regexp // nil: any
	from       *regexp.Regexp // nil: no substitution
	to         javaReplacement
	repeat     bool
	lower      bool
}

// ruleGrammar is KerberosName's: all parts of RULE behind the brackets are optional.
var ruleGrammar = regexp.MustCompile(`^\s*(?:(DEFAULT)|RULE:\[(\d*):([^\]]*)\](?:\(([^)]*)\))?(?:s/([^/]*)/([^/]*)/(g)?)?)/?(L)?`)

func parseNameRules(text string) ([]nameRule, error) {
	var rules []nameRule
	for text = strings.TrimSpace(text); text != ""; {
		groups := ruleGrammar.FindStringSubmatchIndex(text)
		if groups == nil {
			return nil, fmt.Errorf("%q is not a rule", text)
		}
		group := func(i int) (string, bool) {
			if groups[2*i] < 0 {
				return "", false
			}
			return text[groups[2*i]:groups[2*i+1]], true
		}
		rule, err := newNameRule(group)
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", strings.TrimSpace(text[:groups[1]]), err)
		}
		rule.text = strings.TrimSpace(text[:groups[1]])
		rules = append(rules, rule)
		text = text[groups[1]:]
	}
	return rules, nil
}

func newNameRule(group func(int) (string, bool)) (rule nameRule, err error) {
	if _, rule.isDefault = group(1); rule.isDefault {
		return rule, nil // which ignores L
	}
	number, _ := group(2)
	if rule.components, err = strconv.Atoi(number); err != nil {
		return rule, fmt.Errorf("%q is not a number of components", number)
	}
	rule.format, _ = group(3)
	if match, ok := group(4); ok {
		if rule.match, err = compileJavaWhole(match); err != nil {
			return rule, err
		}
	}
	if from, ok := group(5); ok {
		if rule.from, err = compileJava(from); err != nil {
			return rule, err
		}
		to, _ := group(6)
		if rule.to, err = parseJavaReplacement(to, rule.from); err != nil {
			return rule, err
		}
	}
	_, rule.repeat = group(7)
	_, rule.lower = group(8)
	if rule.repeat && rule.from.MatchString("") {
		return rule, errors.New("s/…/…/g with an expression that matches the empty text: Go and Java count such matches differently")
	}
	return rule, nil
}

// apply returns the result of the rule, and whether the rule applies to the name.
func (r nameRule) apply(parts []string, defaultRealm string) (string, bool, error) {
	if r.isDefault {
		return parts[1], parts[0] == defaultRealm, nil
	}
	if len(parts)-1 != r.components {
		return "", false, nil
	}
	base, err := fillFormat(r.format, parts)
	if err != nil {
		return "", false, err
	}
	if r.match != nil && !r.match.MatchString(base) {
		return "", false, nil
	}
	if r.from != nil {
		base = r.to.replace(r.from, base, r.repeat)
	}
	return base, true, nil
}

// fillFormat replaces $0, $1 and $2 by the parts of a name.
func fillFormat(format string, parts []string) (string, error) {
	var filled strings.Builder
	for {
		text, rest, ok := strings.Cut(format, "$")
		filled.WriteString(text)
		if !ok {
			return filled.String(), nil
		}
		format = strings.TrimLeft(rest, "0123456789")
		number := rest[:len(rest)-len(format)]
		n, err := strconv.Atoi(number)
		if err != nil || n >= len(parts) {
			return "", fmt.Errorf("its format contains $%s, which is not one of $0 to $%d", number, len(parts)-1)
		}
		filled.WriteString(parts[n])
	}
}
