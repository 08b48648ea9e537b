package client

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// Link lets one browser in at an ApplicationMaster's page, once, with the rights of the user who asked for it. It is
// a secret until it has been used.
type Link struct {
	URL   string
	Until time.Time // the end of the link, by the ApplicationMaster's clock
	// Site says why browsers do not get the certificate of the site; "": they get it, or there is none.
	Site string
	// Fingerprint is the SHA-256 of the certificate that the browser gets, in hex; "": browsers know the certificate.
	Fingerprint string
}

var (
	linkKey         = regexp.MustCompile(`^[A-Za-z0-9_-]{32,128}$`)
	linkFingerprint = regexp.MustCompile(`^([0-9a-f]{64})?$`)
	linkName        = regexp.MustCompile(`^[A-Za-z0-9*._:-]{1,253}$`)
)

// Link asks for a link to the page. The user must have the right to change the application.
func (c *ClusterClient) Link(ctx context.Context) (Link, error) {
	const path = "/access/links"
	var answer restapi.Link
	if err := c.ask(ctx, http.MethodPost, path, nil, decode(path, &answer)); err != nil { //nolint:bodyclose // ask closes it
		return Link{}, err
	}
	base, err := baseURL(answer.Address)
	if err != nil {
		return Link{}, err
	}
	// An ApplicationMaster of another user may send anything. The browser and the terminal get what has the form.
	if !linkKey.MatchString(answer.Key) || !linkFingerprint.MatchString(answer.Fingerprint) {
		return Link{}, fmt.Errorf("ask ApplicationMaster for a link: %w", errAnswer)
	}
	link := Link{URL: base + restapi.OpenPath + "#" + answer.Key, Until: time.UnixMilli(answer.Until), Fingerprint: answer.Fingerprint}
	if answer.Site != nil {
		if link.Site, err = unused(*answer.Site, answer.Address, time.Now()); err != nil {
			return Link{}, err
		}
	}
	return link, nil
}

// unused says why browsers do not get a certificate of the site at an address.
func unused(site restapi.LinkSite, address string, now time.Time) (string, error) {
	odd := func(name string) bool { return !linkName.MatchString(name) }
	if len(site.Names) > restapi.MaxLinkNames || slices.ContainsFunc(site.Names, odd) {
		return "", fmt.Errorf("ask ApplicationMaster for a link: %w", errAnswer)
	}
	const moment = "2006-01-02 15:04 MST"
	switch begin, end := time.UnixMilli(site.From), time.UnixMilli(site.Until); {
	case now.After(end):
		return "the site's certificate ended on " + end.Local().Format(moment), nil
	case now.Before(begin):
		return "the site's certificate begins on " + begin.Local().Format(moment), nil
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("ask ApplicationMaster for a link: %w: %w", errAnswer, err)
	}
	return fmt.Sprintf("the site's certificate is not for %s, but for %s", host, strings.Join(site.Names, ", ")), nil
}
