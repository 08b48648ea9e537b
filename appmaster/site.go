package appmaster

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
)

// readSite reads the certificate of the site that the client has sent. It may have ended since.
func readSite(path string) (*sitecert.Certificate, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the site's certificate: %w", err)
	}
	site, err := sitecert.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read the site's certificate: %w", err)
	}
	return site, nil
}

// nameTime bounds the search for a name of this node.
const nameTime = 5 * time.Second

// resolver is the part of net.Resolver that doorName uses.
type resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
	LookupAddr(ctx context.Context, address string) ([]string, error)
}

// doorName returns the name by which browsers reach this node, which YARN calls host: the one that the site's
// certificate covers if the node has such a name. YARN may know the node by a short name or an address, and
// certificates have full names. The log says whether browsers get the certificate.
func doorName(ctx context.Context, host string, site *sitecert.Certificate, dns resolver, logger logrus.FieldLogger) string {
	if site == nil {
		return host
	}
	ctx, cancel := sched.WithTimeout(ctx, nameTime)
	defer cancel()
	now := sched.Now(ctx)
	logger = logger.WithFields(logrus.Fields{"host": host, "names": site.Names(), "end": site.Ends()})
	name, covered := coveredName(ctx, host, site, dns)
	switch advice := site.Advice(now); {
	case !covered:
		logger.Warn("the site's certificate is not for this node: browsers get the application's")
	case !site.Serves(name, now):
		logger.Warn("the site's certificate has ended: browsers get the application's")
	case advice != "":
		logger.WithField("name", name).Warn(advice)
	default:
		logger.WithField("name", name).Info("browsers get the site's certificate")
	}
	return name
}

// coveredName looks for a name of a host that a certificate covers: the host itself, an address of it, or a name that
// DNS gives to such an address and that leads back to it. If there is none, it returns the host.
func coveredName(ctx context.Context, host string, site *sitecert.Certificate, dns resolver) (name string, covered bool) {
	if site.Covers(host) {
		return host, true
	}
	addresses, err := dns.LookupHost(ctx, host)
	if err != nil {
		return host, false
	}
	for _, address := range addresses {
		names, err := dns.LookupAddr(ctx, address)
		if err != nil { // it may have no name
			continue
		}
		for _, name := range names {
			name = strings.TrimSuffix(name, ".")
			if !site.Covers(name) {
				continue
			}
			if back, err := dns.LookupHost(ctx, name); err == nil && slices.Contains(back, address) {
				return name, true
			}
		}
	}
	if at := slices.IndexFunc(addresses, site.Covers); at >= 0 {
		return addresses[at], true
	}
	return host, false
}

var _ resolver = (*net.Resolver)(nil)
