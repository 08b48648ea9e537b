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

// ContainerLaunchContext is the input with which a NodeManager starts a process. The
// NodeManager writes it into a bash script, and puts Commands and the values of
// Environment between double quotes. So `$`, a double quote, a backslash and a
// backtick have their meaning in bash there. `{{X}}` is the variable X, <LOG_DIR> the
// container's log directory and <CPS> the path separator.
type ContainerLaunchContext struct {
	// LocalResources are files by their names in the working directory. A name may
	// contain subdirectories.
	LocalResources map[string]LocalResource
	Environment    map[string]string
	// Commands are joined by blanks into one command line. Output without redirection
	// goes to the prelaunch files.
	Commands []string
	// Tokens is a credentials file (creds.Credentials.Marshal). The container gets its
	// path in HADOOP_TOKEN_FILE_LOCATION. Secret.
	Tokens []byte
	// RenewalConf holds Hadoop properties with which the ResourceManager renews Tokens
	// of clusters that its own configuration lacks, such as dfs.nameservices and the
	// properties of each nameservice (tokensConf). It is only for ApplicationMasters.
	// Its encoded size is at most
	// yarn.resourcemanager.delegation-token.max-conf-size-bytes, 12800.
	RenewalConf map[string]string
	// ServiceData is data for the NodeManager's auxiliary services, by their names.
	// The start fails if the node does not have a service.
	ServiceData map[string][]byte
	ACLs        map[ApplicationAccess]string
	Retry       ContainerRetry // zero: a failed process is not started again
}

// ApplicationAccess is a right over an application (ApplicationAccessType).
// ContainerLaunchContext.ACLs gives it to "user1,user2 group1,group2", to all users
// ("*") or to none (" "). The owner and administrators always have these rights. A
// cluster checks them only if yarn.acl.enable is set.
type ApplicationAccess string

const (
	AccessView   ApplicationAccess = "VIEW_APP"   // reports and logs
	AccessModify ApplicationAccess = "MODIFY_APP" // kill
)

// ContainerRetry makes the NodeManager start a failed process again in its container
// (ContainerRetryContext). The ApplicationMaster gets a report of only the last
// failure.
type ContainerRetry struct {
	Policy           RetryPolicy   // empty: RetryNever
	ErrorCodes       []int32       // for RetryOnSpecificCodes
	MaxRetries       int           // -1: without limit
	Interval         time.Duration // before each try, in whole milliseconds
	FailuresValidity time.Duration // older failures do not count; 0: all count
}

// RetryPolicy says when ContainerRetry applies (ContainerRetryPolicy).
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
	// Timestamp is the file's modification time in milliseconds since 1970. The start
	// fails if it is not exactly the file's.
	Timestamp  int64
	Type       LocalResourceType
	Visibility LocalResourceVisibility
	Pattern    string // for LocalPattern: regular expression of the names to unpack
}

// LocalResourceType says how the NodeManager treats the copy.
type LocalResourceType string

const (
	LocalFile    LocalResourceType = "FILE"    // readable and executable by the user
	LocalArchive LocalResourceType = "ARCHIVE" // unpacked
	LocalPattern LocalResourceType = "PATTERN" // both
)

// LocalResourceVisibility says which containers share the copy on a node.
type LocalResourceVisibility string

const (
	VisibilityPublic      LocalResourceVisibility = "PUBLIC"      // all containers; all users must be able to read the file and the directories above
	VisibilityPrivate     LocalResourceVisibility = "PRIVATE"     // all applications of the user
	VisibilityApplication LocalResourceVisibility = "APPLICATION" // containers of this application
)

// URL is the address of a file, in the parts that Hadoop sends. It is comparable. Host
// is the nameservice if there are several NameNodes.
type URL struct {
	Scheme   string
	UserInfo string
	Host     string
	Port     int    // -1: none
	Path     string // not percent-encoded
}

// ParseURL splits an absolute URI such as hdfs://namenode:8020/dir/file. The text
// after the authority is the path, byte for byte, as in Hadoop's Path: nothing is
// percent-encoded, and "?" and "#" are ordinary characters.
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

// String joins the parts.
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

// LogAggregation chooses the files of a container's log directory that YARN collects
// (LogAggregationContext). The fields are Java regular expressions for file names. The
// zero value collects all files when the application has ended.
type LogAggregation struct {
	Include, Exclude             string
	RolledInclude, RolledExclude string // while the application runs
	PolicyClass, PolicyParams    string
}
