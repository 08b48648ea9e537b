package appmaster

import (
	"cmp"
	"context"
	"errors"
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

const (
	// nameTime bounds one search for a name of this node.
	nameTime = 5 * time.Second
	// namePause is the time from a search without a result to the next one.
	namePause = time.Minute
)

// resolver is the part of net.Resolver that doorName uses.
type resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
	LookupAddr(ctx context.Context, address string) ([]string, error)
}

var _ resolver = (*net.Resolver)(nil)

// doorName finds the name by which browsers reach this node, which YARN calls host: the one that the site's certificate covers
// if the node has such a name. YARN may know the node by a short name or an address, and certificates have full names. The log
// says whether browsers get the certificate. Any goroutine may use it. Make it with newDoorName.
type doorName struct {
	host   string
	site   *sitecert.Certificate // nil: there is none
	dns    resolver
	logger logrus.FieldLogger
	turn   sched.Permits // for a search; guards what follows

	found string    // "": no name that is covered
	next  time.Time // there is no search before
	told  string    // the last line in the log
}

func newDoorName(host string, site *sitecert.Certificate, dns resolver, logger logrus.FieldLogger) *doorName {
	return &doorName{host: host, site: site, dns: dns, logger: logger, turn: sched.NewPermits(1)}
}

// find returns the name, or host if there is none. DNS may not answer at first, so a name that was not found is looked for
// again. find waits for DNS for nameTime at most.
func (d *doorName) find(ctx context.Context) string {
	if d.site == nil {
		return d.host
	}
	if d.turn.Acquire(ctx) != nil {
		return d.host
	}
	defer d.turn.Release()
	switch {
	case d.found != "":
		return d.found
	case sched.Now(ctx).Before(d.next):
		return d.host
	}
	searching, cancel := sched.WithTimeout(ctx, nameTime)
	defer cancel()
	name, err := coveredName(searching, d.host, d.site, d.dns)
	if ctx.Err() != nil { // nobody waits for the answer any more
		return d.host
	}
	now := sched.Now(ctx)
	d.tell(name, err, now)
	if err != nil {
		d.next = now.Add(namePause)
		return d.host
	}
	d.found = name
	return name
}

// tell logs which certificate browsers get, unless the last line says the same.
func (d *doorName) tell(name string, err error, now time.Time) {
	logger := d.logger.WithFields(logrus.Fields{"host": d.host, "names": d.site.Names(), "end": d.site.Ends()})
	level := logrus.WarnLevel
	var line string
	switch untimely, advice := d.site.Untimely(now), d.site.Advice(now); {
	case errors.Is(err, errUncovered):
		line = "the site's certificate is not for this node: browsers get the application's"
	case err != nil:
		logger = logger.WithError(err)
		line = "it is not known whether the site's certificate is for this node: browsers get the application's"
	case untimely != "":
		line = fmt.Sprintf("the site's certificate cannot be used, because %s: browsers get the application's", untimely)
	case advice != "":
		line = advice
	default:
		level, line = logrus.InfoLevel, "browsers get the site's certificate"
	}
	if line != d.told {
		logger.WithField("name", name).Log(level, line)
	}
	d.told = line
}

// errUncovered says that this node has no name that the site's certificate covers.
var errUncovered = errors.New("no name of this node is in the certificate")

// coveredName looks for a name of a host that a certificate covers: the host itself, an address of it, or a name that
// DNS gives to such an address and that leads back to it. Errors: errUncovered, and that of DNS, which may pass.
func coveredName(ctx context.Context, host string, site *sitecert.Certificate, dns resolver) (name string, err error) {
	if site.Covers(host) {
		return host, nil
	}
	addresses, err := dns.LookupHost(ctx, host)
	if err != nil {
		return "", fmt.Errorf("look for the addresses of this node: %w", err)
	}
	var unknown error
	for _, address := range addresses {
		names, err := dns.LookupAddr(ctx, address)
		if err != nil { // it may have no name
			unknown = cmp.Or(unknown, passing(err))
			continue
		}
		for _, name := range names {
			name = strings.TrimSuffix(name, ".")
			if !site.Covers(name) {
				continue
			}
			back, err := dns.LookupHost(ctx, name)
			if err == nil && slices.Contains(back, address) {
				return name, nil
			}
			unknown = cmp.Or(unknown, passing(err))
		}
	}
	if at := slices.IndexFunc(addresses, site.Covers); at >= 0 {
		return addresses[at], nil
	}
	if unknown != nil {
		return "", fmt.Errorf("look for the names of this node: %w", unknown)
	}
	return "", errUncovered
}

// passing is an error of DNS, unless it is the answer that there is nothing.
func passing(err error) error {
	if fault, is := errors.AsType[*net.DNSError](err); is && fault.IsNotFound {
		return nil
	}
	return err
}
