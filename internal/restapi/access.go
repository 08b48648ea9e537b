package restapi

const (
	// HeaderCSRF carries the value that a browser gets with its cookie (Access.CSRF). A page of another origin cannot
	// read the value, and cannot send the header.
	HeaderCSRF = "X-Bobbin-CSRF"
	// SchemeLink is the scheme of an Authorization header with the key of a Link.
	SchemeLink = "Bobbin-Link"
	// HeaderBrowser carries a value by which POST /access recognizes a browser that comes by the same link again, because the
	// answer was lost. The page of a link invents the value, and no other browser knows it.
	HeaderBrowser = "X-Bobbin-Browser"
	// OpenPath is the page that a link opens. The key follows as the URL's fragment, which browsers do not send.
	OpenPath = "/open"
)

// Access is the answer to GET /access and POST /access: what the sender may do here.
type Access struct {
	// User is the short name of the sender; "": it is not known.
	User string `json:"user"`
	// Change says that the sender may change something by this connection, and Run that the sender may run programs.
	Change bool `json:"change"`
	Run    bool `json:"run"`
	// CSRF is the value of HeaderCSRF; nil for senders who need none, and for a browser that did not send it.
	// POST /access tells it to a browser, once.
	CSRF *string `json:"csrf"`
	// Until is when the browser's cookie ends, in ms since 1970; -1: the sender has none.
	Until int64 `json:"until"`
	// How is the command that opens the page for changes.
	How string `json:"how"`
}

// Link is the answer to POST /access/links: a link that lets one browser in, once.
type Link struct {
	Address string `json:"address"` // host:port of the door for TLS, by the name in its certificate
	Key     string `json:"key"`     // a secret
	Until   int64  `json:"until"`   // the end of the key, in ms since 1970
	// Fingerprint is the SHA-256 of the certificate that browsers get, in hex; "": the certificate is the site's, which
	// browsers know.
	Fingerprint string `json:"fingerprint"`
	// Site is the site's certificate if there is one and browsers do not get it, because it is for other hosts, has
	// ended or has not begun; otherwise nil.
	Site *LinkSite `json:"site"`
}

// LinkSite is a certificate of the site.
type LinkSite struct {
	Names []string `json:"names"` // that it covers, MaxLinkNames at most
	From  int64    `json:"from"`  // its begin, in ms since 1970
	Until int64    `json:"until"` // its end, likewise
}

// MaxLinkNames is how many names of a certificate a Link has.
const MaxLinkNames = 16
