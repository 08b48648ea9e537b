package restapi

import "github.com/bobbin-yarn/bobbin/internal/ids"

// ProgramID identifies a program.
type ProgramID struct {
	Name   string `json:"name,omitempty"` // for users
	SHA256 string `json:"sha256"`         // lower-case hex
}

// Program is a program of a session, and the answer to GET /programs/{program}.
type Program struct {
	ID       string `json:"id"` // SHA-256, lower-case hex
	Name     string `json:"name"`
	Size     int64  `json:"size"` // bytes
	Uploaded int64  `json:"uploaded"`
}

// Programs is the answer to GET /programs.
type Programs struct {
	Programs []Program `json:"programs"`
}

// File is a cached file for jobs to be submitted: the answer to GET /files/{file} and POST /files.
type File struct {
	ID       string `json:"id"` // SHA-256, lower-case hex
	Name     string `json:"name"`
	Size     int64  `json:"size"` // bytes
	Uploaded int64  `json:"uploaded"`
}

// RunRequest is the body of POST /programs/{program}/run and …/plan; Flink's JarRunRequestBody
// without the fields for Java.
type RunRequest struct {
	Arguments   []string          `json:"programArgsList,omitempty"`
	Parallelism int               `json:"parallelism,omitempty"` // 0: parallelism.default
	Job         ids.JobID         `json:"jobId,omitempty"`
	Options     map[string]string `json:"flinkConfiguration,omitempty"`
	// ArgumentLine is Flink's older form of Arguments: words separated by spaces. Quotes keep words
	// together.
	ArgumentLine string `json:"programArgs,omitempty"`
	// Savepoint is refused: savepoints are not supported yet.
	Savepoint string `json:"savepointPath,omitempty"`
}

// RunAnswer is the answer to POST /programs/{program}/run; Flink's
// JarRunResponseBody.
type RunAnswer struct {
	Job ids.JobID `json:"jobid"`
}

// Attempt is one start of the ApplicationMaster.
type Attempt struct {
	Attempt     int    `json:"attempt"` // from 1
	Container   string `json:"container"`
	Node        string `json:"node,omitempty"`
	State       string `json:"state"`                 // YARN's YarnApplicationAttemptState; "": it has ended, and YARN cannot be asked how
	Started     int64  `json:"started"`               // ms; -1: not known
	Ended       int64  `json:"ended"`                 // ms; -1: it runs, or YARN cannot be asked
	Diagnostics string `json:"diagnostics,omitempty"` // why it has ended
}

// Attempts is the answer to GET /attempts, the oldest first.
type Attempts struct {
	Attempts []Attempt `json:"attempts"`
}

// Driver is a program that runs beside the master.
type Driver struct {
	ID      string    `json:"id"`      // of this run, 32 hex digits
	Program string    `json:"program"` // SHA-256, lower-case hex
	Name    string    `json:"name"`
	Started int64     `json:"started"`
	Memory  int64     `json:"memory"`            // memory of its processes, in bytes
	Jobs    int       `json:"jobs"`              // number of submitted jobs
	LastJob ids.JobID `json:"lastJob,omitempty"` // the last of these
}

// Drivers is the answer to GET /drivers.
type Drivers struct {
	Drivers []Driver `json:"drivers"`
}

// JarList is the answer to GET /jars; Flink's JarListInfo.
type JarList struct {
	Address string    `json:"address"`
	Files   []JarFile `json:"files"`
}

// JarFile is Flink's JarListInfo.JarFileInfo.
type JarFile struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Uploaded int64      `json:"uploaded"`
	Entry    []JarEntry `json:"entry"` // a program has one main, and no list of them
}

// JarEntry is Flink's JarListInfo.JarEntryInfo.
type JarEntry struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// JarUploaded is the answer to POST /jars/upload; Flink's JarUploadResponseBody.
type JarUploaded struct {
	Filename string `json:"filename"`
	Status   string `json:"status"`
}
