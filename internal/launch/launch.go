// Package launch is what a process needs to know when YARN starts it: what the
// client tells the AM, and what the AM tells a TaskExecutor. It travels in the
// container's environment under one variable, so a container localizes nothing
// for it. No secret belongs here: those go into the container's Credentials.
package launch

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Variable is the environment variable that carries the encoded structs.
const Variable = "BOBBIN_LAUNCH"

var (
	// ErrMalformed is the cause of every decoding fault.
	ErrMalformed = errors.New("malformed " + Variable)
	// ErrTooLarge says that a container could not be started with so much in its
	// environment.
	ErrTooLarge = errors.New("launch context is too large")
)

const (
	// maxEncoded is the most that Linux takes in one variable: 128 KiB
	// (MAX_ARG_STRLEN) with its name and its end.
	maxEncoded = 128<<10 - len(Variable+"=") - 1
	// maxDecoded bounds what a variable may unpack to, in bytes.
	maxDecoded = 8 << 20
)

// MasterHeapShare is the part of the ApplicationMaster's container that its Go heap may
// take, in percent, where no program runs beside it; the rest is program text, stacks and
// the kernel's share.
const MasterHeapShare = 80

// KeytabFile is the keytab in an application's staging directory, 0400.
const KeytabFile = "krb5.keytab"

// Names of the files that a container of ours finds in its working directory.
const (
	BobbinLink  = "bobbin"  // our own binary
	ProgramLink = "program" // the job's program, in TaskExecutor containers; an application's in all
)

// Names of the files in an application's staging directory.
const (
	StagedFile = "staged.json" // what is too long for a variable (Staged)
	AccessFile = "access.json" // written by the AM, 0600: how its owner reaches REST (Access)
	RefsFile   = "refs"        // the entries of the cache that this application uses, one hash a line
)

// Mode says what a cluster is for.
type Mode string

// The modes.
const (
	// PerJob runs the one job that the client has staged, and ends with it.
	PerJob Mode = "per-job"
	// Session takes jobs and programs over REST until it is shut down.
	Session Mode = "session"
	// Application runs the driver of its program, and ends with it.
	Application Mode = "application"
)

// ChildEnvironment gives the environment of a child that runs a user's code: own, that of its
// parent, without the parent's launch context, the way to its credentials, and its limits.
func ChildEnvironment(own []string) []string {
	return slices.DeleteFunc(slices.Clone(own), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{Variable, TokenFileVariable, "GOMEMLIMIT", "GOMAXPROCS"}, name)
	})
}

// AppMaster is what the client tells the AM.
type AppMaster struct {
	Mode       Mode
	StagingDir string            // URI of .bobbin/<application id>
	User       string            // who runs the application, on an open cluster
	HadoopConf []byte            // the client's site settings, as hadoopconf marshals them
	Config     map[string]string // options that the client was given, by key
	Bobbin     Resource          // our own binary, for the TaskExecutors
	// BobbinSHA256 is that of the binary, lower-case hex; "": the client has not read the one on HDFS
	// that options name.
	BobbinSHA256 string      `json:",omitempty"`
	Program      Resource    // the program of job or application; a session has none
	ProgramRef   msg.Program // SHA256 is "" if no one has read the program: it was on HDFS
	Arguments    []string    // of an application's program
	// Attached says of a job that a client waits for its result, and of an
	// application that Execute waits for its job's end.
	Attached bool
	Security Security
}

// Security is how the AM of a secure cluster proves who it is beside the tokens in its
// Credentials. The zero value is that of one that has no keytab.
type Security struct {
	Principal string // whose key to take of the keytab, with its realm; "" without a keytab
	Keytab    string // in the working directory, or on the node
	Krb5Conf  []byte // the client's, where it named one; nil: the node's
	// FileSystems are the roots of those that tasks need tokens for.
	FileSystems []string
}

// Resource is a staged file as a container localizes it.
type Resource struct {
	URI       string
	Size      int64
	Timestamp int64 // modification time, ms; YARN compares it exactly
	// Public has YARN share it between all users; it must be readable for all of them.
	Public bool `json:",omitempty"`
}

// Localize is the resource as YARN localizes it: shared by all applications of
// the user, or of everybody, and executable.
func (r Resource) Localize() (records.LocalResource, error) {
	url, err := records.ParseURL(r.URI)
	if err != nil {
		return records.LocalResource{}, err
	}
	resource := records.LocalResource{
		URL: url, Size: r.Size, Timestamp: r.Timestamp,
		Type: records.LocalFile, Visibility: records.VisibilityPrivate,
	}
	if r.Public {
		resource.Visibility = records.VisibilityPublic
	}
	return resource, nil
}

// LocalizeAlone is the resource as YARN localizes it for this application and no other,
// and removes it from the node when that ends.
func (r Resource) LocalizeAlone() (records.LocalResource, error) {
	resource, err := r.Localize()
	resource.Visibility = records.VisibilityApplication
	return resource, err
}

// ACLs are the rights of others that every launch context of an application grants, by
// yarn.view.acls and yarn.modify.acls.
func ACLs(c config.Config) map[records.ApplicationAccess]string {
	acls := make(map[records.ApplicationAccess]string)
	for access, key := range map[records.ApplicationAccess]config.StringKey{
		records.AccessView: config.YarnViewACLs, records.AccessModify: config.YarnModifyACLs,
	} {
		if c.IsSet(key) {
			acls[access] = c.String(key)
		}
	}
	return acls
}

// Staged is the content of StagedFile.
type Staged struct {
	Nodes []Node // that run, for asks that name hosts; YARN tells the AM of changes
	Job   *Job   // of a per-job cluster; nil
	// Shipped are for all containers.
	Shipped []Shipped `json:",omitempty"`
}

// Job is the job of a per-job cluster.
type Job struct {
	ID    ids.JobID
	Graph json.RawMessage // jobgraph.JobGraph
}

// Node is a node of the cluster when the client looked.
type Node struct {
	Host     string // as requests must name it
	Port     int
	Rack     string
	MemoryMB int64 // in all
	VCores   int
	// Others are of further resource types, in all.
	Others map[string]records.ResourceAmount `json:",omitempty"`
	Labels []string                          `json:",omitempty"`
}

// Access is the content of AccessFile.
type Access struct {
	Address   string // host:port of REST
	Authority []byte // PEM of the CA that REST's certificate is checked against
	Token     string // bearer token of the application's owner
	AMStart   int64  // ms, when the AM process began
	Attempt   int32  // which of the application's ApplicationMasters it is, from 1

	Application string
}

// TaskExecutor is what the AM tells a TaskExecutor.
type TaskExecutor struct {
	Application string
	AMAddress   string // host:port of the AM's role RPC
	Host        string // the node's name as YARN knows it
	MemoryMB    int    // of the container
	VCores      int
	Slots       int
	User        string
	HadoopConf  []byte
	Config      map[string]string
	// Programs maps the SHA-256 of localized programs to their links.
	Programs map[string]string
}

// SecretCredentials is the alias of a TaskExecutor's TLS credentials among the
// secrets of its container, PEM.
const SecretCredentials = "bobbin.credentials"

// Encode gives the variable's value for an AppMaster or a TaskExecutor. It holds
// letters, digits and "+/=" only, so that it passes the launch script unquoted.
// ErrTooLarge where no process could be started with it.
func Encode[T AppMaster | TaskExecutor](v T) (string, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return "", fmt.Errorf("encode %s: %w", Variable, err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("encode %s: %w", Variable, err)
	}
	value := base64.StdEncoding.EncodeToString(packed.Bytes())
	if len(value) > maxEncoded {
		return "", fmt.Errorf("encode %s: %w: options and Hadoop configuration take %d bytes, and the limit is %d; remove from HADOOP_CONF_DIR what clients do not need",
			Variable, ErrTooLarge, len(value), maxEncoded)
	}
	return value, nil
}

// Decode reads what Encode wrote. Every fault wraps ErrMalformed.
func Decode[T AppMaster | TaskExecutor](value string) (T, error) {
	var v T
	if value == "" {
		return v, fmt.Errorf("%w: not set; this process is started by YARN, not by hand", ErrMalformed)
	}
	packed, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return v, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return v, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	text, err := io.ReadAll(io.LimitReader(r, maxDecoded+1))
	if err != nil {
		return v, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if len(text) > maxDecoded {
		return v, fmt.Errorf("%w: more than %d bytes", ErrMalformed, maxDecoded)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return v, nil
}
