package msg

import "time"

// ApplicationDetails describes an application and the attempt that runs, for users. Texts are "" and times zero if they are
// not known.
type ApplicationDetails struct {
	ID, Name, Type   string
	User, Queue      string
	Mode             string // session, per-job or application
	Attempt          int
	Submitted        time.Time
	Started          time.Time // of this attempt's process
	TrackingURL      string    // through YARN's proxy
	Address          string    // host:port of REST
	ResourceManager  string    // YARN's, for clients
	HighAvailability string    // the URI under which jobs outlive the ApplicationMaster; "": they do not
	LogURL           string    // of the container, at its NodeManager
	Attempts         []AttemptDetails
	Tokens           []TokenDetails
}

// TokenDetails describes a delegation token of an application, without its secret.
type TokenDetails struct {
	Kind, Service string
	Renewer       string // "": nobody renews it
	Ends          time.Time
}
