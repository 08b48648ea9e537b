package restapi

// Application is the answer to GET /application. Times are in ms since 1970; -1: not known.
type Application struct {
	ID               string    `json:"id"`
	Name             string    `json:"name"`
	Type             string    `json:"type"`
	User             string    `json:"user"`
	Queue            string    `json:"queue"`
	Mode             string    `json:"mode"`
	Attempt          int       `json:"attempt"`
	Submitted        int64     `json:"submitted"`
	Started          int64     `json:"started"` // the process of this attempt
	TrackingURL      string    `json:"trackingUrl"`
	Address          string    `json:"address"`          // host:port of REST
	ResourceManager  string    `json:"resourceManager"`  // YARN's
	HighAvailability string    `json:"highAvailability"` // URI; "": jobs end with the ApplicationMaster
	LogURL           string    `json:"logUrl"`           // of the container, at its NodeManager
	Version          string    `json:"version"`
	Revision         string    `json:"revision"`
	Attempts         []Attempt `json:"attempts"`
	Tokens           []Token   `json:"tokens"`
}

// Token is a delegation token of the application.
type Token struct {
	Kind    string `json:"kind"`
	Service string `json:"service"`
	Renewer string `json:"renewer"`
	End     int64  `json:"end"`
}

// Span is a part of a start: an entry of the answers to GET /start and GET /jobs/:jobid/start.
type Span struct {
	Name   string `json:"name"`
	Begin  int64  `json:"begin"`
	End    *int64 `json:"end"` // null: it is not over
	Detail string `json:"detail"`
}
