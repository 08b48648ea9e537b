// Package launch holds the settings of a process that YARN starts: those of the AM, from the
// client, and those of a TaskExecutor, from the AM. They are in one environment variable of the
// container, so the container localizes no file for them. They contain no secret: secrets are in
// the container's Credentials.
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
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Variable is the environment variable that carries the encoded structs.
const Variable = "BOBBIN_LAUNCH"

var (
	// ErrMalformed is the cause of every decoding error.
	ErrMalformed = errors.New("malformed " + Variable)
	// ErrTooLarge says that the settings are too large for a container's environment.
	ErrTooLarge = errors.New("launch context is too large")
)

const (
	// maxEncoded is Linux's limit for one variable, with its name and its end: 128 KiB
	// (MAX_ARG_STRLEN).
	maxEncoded = 128<<10 - len(Variable+"=") - 1
	// maxDecoded bounds the unpacked content of a variable, in bytes.
	maxDecoded = 8 << 20
)

// KeytabFile is the keytab in an application's staging directory, 0400.
const KeytabFile = "krb5.keytab"

// SiteFile is the site's certificate for REST with its key, in an application's staging directory, 0400, and in the AM's
// container (package sitecert).
const SiteFile = "bobbin-rest.pem"

// Names of the files in the working directory of a container.
const (
	BobbinLink  = "bobbin"  // the bobbin binary
	ProgramLink = "program" // the job's program, in containers with TaskExecutors; an application's in all
)

// Names of the files in an application's staging directory.
const (
	StagedFile = "staged.json" // settings that are too long for a variable (Staged)
	AccessFile = "access.json" // written by the AM, 0600: how the owner reaches REST (Access)
	RefsFile   = "refs"        // the entries of the cache that this application uses, one hash a line
)

// Mode is the purpose of a cluster.
type Mode string

// The modes.
const (
	// PerJob runs one job, which the client has staged, and ends with it.
	PerJob Mode = "per-job"
	// Session accepts jobs and programs over REST until it is shut down.
	Session Mode = "session"
	// Application runs the driver of its program, and ends with it.
	Application Mode = "application"
)

// sessionPrograms is how many users' programs a session runs at the same time; more wait.
const sessionPrograms = 4

// Programs is the number of users' programs that run beside the ApplicationMaster at the same time.
func (m Mode) Programs() int {
	switch m {
	case Application:
		return 1
	case Session:
		return sessionPrograms
	case PerJob: // the program has planned on the client's machine
	}
	return 0
}

// ChildEnvironment returns the environment for a child of a process in a container: the parent's
// environment without the launch settings, the path of the credentials, and the limits of Go's
// runtime.
func ChildEnvironment(own []string) []string {
	return slices.DeleteFunc(slices.Clone(own), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{Variable, TokenFileVariable, "GOMEMLIMIT", "GOMAXPROCS"}, name)
	})
}

// AppMaster holds the settings of the AM, from the client.
type AppMaster struct {
	Mode       Mode
	Name, Type string            `json:",omitempty"` // of the application in YARN
	Began      Began             // when the client did what it did
	StagingDir string            // URI of .bobbin/<application id>
	User       string            // the application's user, on an open cluster
	HadoopConf []byte            // the client's site settings, as hadoopconf marshals them
	Config     map[string]string // the client's options, by key
	Bobbin     Resource          // the bobbin binary, for the TaskExecutors
	// BobbinSHA256 is the hash of the binary in lower-case hex. "": the options name a file on
	// HDFS, which the client has not read.
	BobbinSHA256 string      `json:",omitempty"`
	Program      Resource    // the program of the job or application; a session has none
	ProgramRef   msg.Program // SHA256 is "" if the program was on HDFS, and the client has not read it
	Arguments    []string    // of an application's program
	// Uber says that the container has room for a TaskExecutor of the size in Config, in addition to
	// the AM, and has the job's program.
	Uber bool `json:",omitempty"`
	// Attached is true for a job whose client waits for its result, and for an application in which
	// Execute waits for the job's end.
	Attached bool
	Security Security
	// Site says that the container has SiteFile.
	Site bool `json:",omitempty"`
	// HighAvailability is the URI of the application's directory of package ha, which the client has
	// staged. "": nothing outlives the AM.
	HighAvailability string `json:",omitempty"`
}

// Began is when the client reached the steps of its command, in ms since 1970 by its clock; 0: not known.
type Began struct {
	Command int64 `json:",omitempty"` // begin of the command
	Checked int64 `json:",omitempty"` // it has checked YARN and HDFS
	Staged  int64 `json:",omitempty"` // its files are on HDFS
}

// Times returns the times, zero if they are not known.
func (b Began) Times() (command, checked, staged time.Time) {
	at := func(ms int64) time.Time {
		if ms <= 0 {
			return time.Time{}
		}
		return time.UnixMilli(ms)
	}
	return at(b.Command), at(b.Checked), at(b.Staged)
}

// Security is how the AM of a secure cluster proves its identity, in addition to the tokens in its
// Credentials. The zero value has no keytab.
type Security struct {
	Principal string // whose key in the keytab is used, with its realm; "" without a keytab
	Keytab    string // in the working directory, or on the node
	Krb5Conf  []byte // the client's, if its options name one; nil: the node's
	// FileSystems are the roots of the file systems for which tasks need tokens.
	FileSystems []string
}

// Resource is a staged file that a container localizes.
type Resource struct {
	URI       string
	Size      int64
	Timestamp int64 // modification time, ms; YARN compares it exactly
	// Public is true if YARN shares the file between all users. All of them must be able to read it.
	Public bool `json:",omitempty"`
}

// Localize returns the resource for YARN: an executable file that all applications of the user
// share, or of all users if it is Public.
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

// LocalizeAlone returns the resource for YARN, only for this application. YARN removes it from the
// node when the application ends.
func (r Resource) LocalizeAlone() (records.LocalResource, error) {
	resource, err := r.Localize()
	resource.Visibility = records.VisibilityApplication
	return resource, err
}

// ACLs returns the rights of other users, by yarn.view.acls and yarn.modify.acls. Every launch
// context of an application has them.
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
	Nodes []Node // running nodes, for requests that name hosts; YARN reports changes to the AM
	Job   *Job   // of a per-job cluster; otherwise nil
	// Shipped are files for all containers.
	Shipped []Shipped `json:",omitempty"`
	// Files are the cached files of an application's jobs. The graph of a per-job cluster has its own.
	Files []jobgraph.CachedFile `json:",omitempty"`
}

// Job is the job of a per-job cluster.
type Job struct {
	ID    ids.JobID
	Graph json.RawMessage // jobgraph.JobGraph
}

// Node is a node of the cluster, as the client saw it.
type Node struct {
	Host     string // the name for requests
	Port     int
	Rack     string
	MemoryMB int64 // in total
	VCores   int
	// Others are the totals of further resource types.
	Others map[string]records.ResourceAmount `json:",omitempty"`
	Labels []string                          `json:",omitempty"`
}

// Access is the content of AccessFile.
type Access struct {
	Address   string // host:port of REST
	Authority []byte // PEM of the CA that issued REST's certificate
	Token     string // the owner's bearer token
	Viewer    string // the bearer token of programs that only view, such as Prometheus
	AMStart   int64  // start of the AM process, ms
	Attempt   int32  // the application's attempt, from 1

	Application string
}

// TaskExecutor holds the settings of a TaskExecutor, from the AM.
type TaskExecutor struct {
	Application string
	AMAddress   string // host:port of the AM's role RPC
	// HighAvailability is the URI of the application's directory of package ha, where the worker finds later AMs. "": the
	// worker is only for this AM.
	HighAvailability string        `json:",omitempty"`
	Host             string        // the node's name in YARN
	Memory           memory.Worker // of the container, or of the worker's part of it, and the number of slots
	// External are the external resources of the container, and Profile is that of its slots.
	External   msg.ExternalResources `json:",omitempty"`
	Profile    msg.ResourceProfile
	VCores     int
	User       string
	HadoopConf []byte
	Config     map[string]string
	// Viewer is the digest of the token by which programs may read the worker's metrics; "": none can.
	Viewer string `json:",omitempty"`
	// Uber is the worker's id if it runs in the AM's container, as a child of the AM. Its stdin then
	// ends with the AM. "": it has a container of its own, whose id it has.
	Uber ids.ResourceID `json:",omitempty"`
	// Programs maps the SHA-256 of localized programs to their links.
	Programs map[string]string
}

// SecretCredentials is the alias of a TaskExecutor's TLS credentials (PEM) among the secrets of its
// container.
const SecretCredentials = "bobbin.credentials"

// Encode returns the variable's value for an AppMaster or a TaskExecutor. It consists of letters,
// digits and "+/=", so it passes the launch script without quotes. The error is ErrTooLarge if no
// process could be started with it.
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

// Decode parses the value that Encode returned. Every error wraps ErrMalformed.
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
