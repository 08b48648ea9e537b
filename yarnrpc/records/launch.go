package records

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// ContainerLaunchContext is what a NodeManager needs to start a process. The
// NodeManager writes it into a bash script, so in Commands and in the values of
// Environment, which it puts between double quotes, `$`, a double quote, a
// backslash and a backtick mean what they mean there; `{{X}}` is the variable X,
// <LOG_DIR> the container's log directory and <CPS> the separator of paths.
type ContainerLaunchContext struct {
	// LocalResources are files by the name they get in the working directory; a
	// name may lead into subdirectories.
	LocalResources map[string]LocalResource
	Environment    map[string]string
	// Commands are joined by blanks into one command line. What it writes without
	// redirection goes to the prelaunch files.
	Commands []string
	// Tokens is a credentials file (creds.Credentials.Marshal), which the container
	// finds under HADOOP_TOKEN_FILE_LOCATION. Secret.
	Tokens []byte
	// RenewalConf are options of Hadoop under which the ResourceManager renews those
	// Tokens that are for clusters its own files do not tell of, such as
	// dfs.nameservices and what belongs to it (tokensConf). For ApplicationMasters; as
	// sent at most yarn.resourcemanager.delegation-token.max-conf-size-bytes, 12800.
	RenewalConf map[string]string
	// ServiceData is for the NodeManager's auxiliary services, by their names. A
	// service that the node does not have fails the start.
	ServiceData map[string][]byte
	ACLs        map[ApplicationAccess]string
	Retry       ContainerRetry // zero: a failed process is not started again
}

// ApplicationAccess is a right over an application (ApplicationAccessType) that
// ContainerLaunchContext.ACLs may give to "user1,user2 group1,group2", to "*" or to
// nobody, " ". The owner and administrators have them anyway. Clusters look at them if
// yarn.acl.enable is set.
type ApplicationAccess string

const (
	AccessView   ApplicationAccess = "VIEW_APP"   // reports and logs
	AccessModify ApplicationAccess = "MODIFY_APP" // kill
)

// ContainerRetry lets the NodeManager start a failed process again in its container
// (ContainerRetryContext). The ApplicationMaster hears of the last failure only.
type ContainerRetry struct {
	Policy           RetryPolicy   // empty: RetryNever
	ErrorCodes       []int32       // for RetryOnSpecificCodes
	MaxRetries       int           // -1: without limit
	Interval         time.Duration // before each try, in whole milliseconds
	FailuresValidity time.Duration // older failures do not count; 0: all count
}

// RetryPolicy is when ContainerRetry applies (ContainerRetryPolicy).
type RetryPolicy string

const (
	RetryNever           RetryPolicy = "NEVER_RETRY"
	RetryOnAllErrors     RetryPolicy = "RETRY_ON_ALL_ERRORS"
	RetryOnSpecificCodes RetryPolicy = "RETRY_ON_SPECIFIC_ERROR_CODES"
)

// LocalResource is a file on a file system that a NodeManager copies to its node.
type LocalResource struct {
	URL  URL
	Size int64 // bytes; shown, not checked
	// Timestamp is the file's modification time in milliseconds since 1970. The
	// start fails if it differs from the file's by anything.
	Timestamp  int64
	Type       LocalResourceType
	Visibility LocalResourceVisibility
	Pattern    string // for LocalPattern: regular expression of what is unpacked
}

// LocalResourceType is what becomes of the copy.
type LocalResourceType string

const (
	LocalFile    LocalResourceType = "FILE"    // readable and executable by the user
	LocalArchive LocalResourceType = "ARCHIVE" // unpacked
	LocalPattern LocalResourceType = "PATTERN" // both
)

// LocalResourceVisibility is with whom the copy is shared on a node.
type LocalResourceVisibility string

const (
	VisibilityPublic      LocalResourceVisibility = "PUBLIC"      // everybody; the file and the directories above must be readable by all
	VisibilityPrivate     LocalResourceVisibility = "PRIVATE"     // all applications of the user
	VisibilityApplication LocalResourceVisibility = "APPLICATION" // containers of this application
)

// URL is a place on a file system in the parts that Hadoop sends. It is
// comparable. Host is the nameservice where the NameNodes are several.
type URL struct {
	Scheme   string
	UserInfo string
	Host     string
	Port     int    // -1: none
	Path     string // not percent-encoded
}

// ParseURL splits an absolute URI such as hdfs://namenode:8020/dir/file. What
// follows the authority is the path, byte for byte, as in Hadoop's Path: nothing is
// percent-encoded, and "?" and "#" are characters like any other.
func ParseURL(s string) (URL, error) {
	scheme, rest, _ := strings.Cut(s, "://")
	slash := strings.IndexByte(rest, '/')
	if slash < 0 || strings.ContainsAny(scheme, "/?#") || strings.ContainsAny(rest[:slash], "?#") {
		return URL{}, fmt.Errorf("parse location %q: %w: want scheme://host/path", s, ErrMalformed)
	}
	u, err := url.Parse(scheme + "://" + rest[:slash])
	if err != nil {
		return URL{}, fmt.Errorf("parse location %q: %w: %w", s, ErrMalformed, err)
	}
	parts := URL{Scheme: u.Scheme, Host: u.Hostname(), Port: -1, Path: rest[slash:]}
	if address, err := netip.ParseAddr(parts.Host); strings.ContainsAny(parts.Host, ":%") && (err != nil || address.Zone() != "") {
		return URL{}, fmt.Errorf("parse location %q: %w: host is neither a name nor an address", s, ErrMalformed)
	}
	if u.User != nil {
		parts.UserInfo = u.User.String()
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return URL{}, fmt.Errorf("parse location %q: %w: port is not a number below 65536", s, ErrMalformed)
		}
		parts.Port = int(n)
	}
	return parts, nil
}

// String puts the parts together again.
func (u URL) String() string {
	host := u.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.Port >= 0 {
		host = net.JoinHostPort(u.Host, strconv.Itoa(u.Port))
	}
	if u.UserInfo != "" {
		host = u.UserInfo + "@" + host
	}
	return u.Scheme + "://" + host + u.Path
}

// LogAggregation chooses which files of a container's log directory YARN
// collects, by Java regular expressions over their names; the zero value collects
// all of them once the application has ended (LogAggregationContext).
type LogAggregation struct {
	Include, Exclude             string
	RolledInclude, RolledExclude string // while the application runs
	PolicyClass, PolicyParams    string
}
