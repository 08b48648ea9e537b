package client

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
)

// SiteCertificate reads and checks the certificate of the site that options name for REST; nil if they name none. The
// error is a *config.Fault, or one of package sitecert.
func SiteCertificate(cfg config.Config) (*sitecert.Certificate, error) {
	return ReadCertificate(cfg, config.RESTCertificate, config.RESTCertificateKey)
}

// ReadCertificate is SiteCertificate for the files of two options.
func ReadCertificate(cfg config.Config, certificate, key config.StringKey) (*sitecert.Certificate, error) {
	set, missing := certificate, key
	switch a, b := cfg.String(certificate), cfg.String(key); {
	case a == "" && b == "":
		return nil, nil
	case a == "":
		set, missing = key, certificate
	case b != "":
		c, err := sitecert.Read(a, b, time.Now())
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", certificate, key, err)
		}
		return c, nil
	}
	return nil, &config.Fault{
		What:   fmt.Sprintf("option %s: %s is not set", cfg.Told(set), missing),
		Remedy: "name the files of both, the certificate and its key, or of none",
	}
}

// siteOf is the certificate for an application of this user. A user who acts for another keeps the certificate, as the
// keytab, because the other user could read its key: it is not even read. kept then says so.
func (c *Cluster) siteOf(cfg config.Config) (site *sitecert.Certificate, kept string, err error) {
	if c.identity.RealUser == "" {
		site, err = SiteCertificate(cfg)
		return site, "", err
	}
	if cfg.String(config.RESTCertificate) == "" && cfg.String(config.RESTCertificateKey) == "" {
		return nil, "", nil
	}
	return nil, fmt.Sprintf("the site's certificate stays on this machine: %s could read its key (%s)", c.User, config.RESTCertificate), nil
}

// siteAdvice says that the site's certificate ends soon; "" if it does not.
func (p *plan) siteAdvice() string {
	if p.site == nil {
		return ""
	}
	advice := p.site.Advice(time.Now())
	if advice == "" {
		return ""
	}
	return fmt.Sprintf("%s: then browsers get the application's own (%s)", advice, config.RESTCertificate)
}

// othersOf are the users other than the owner whom an ACL names ("alice,bob group"). In a session these may run programs.
func othersOf(acl, owner string) []string {
	users, _, _ := strings.Cut(acl, " ")
	return slices.DeleteFunc(strings.Split(users, ","), func(user string) bool { return user == "" || user == "*" || user == owner })
}

// keyAdvice says that other users can read the key of the site's certificate: their programs run as the owner, who can read it
// beside the ApplicationMaster and on HDFS, where YARN takes it for the next attempt. "" if there are none.
func (p *plan) keyAdvice() string {
	if len(p.readers) == 0 {
		return ""
	}
	const most = 5
	named := strings.Join(p.readers[:min(len(p.readers), most)], ", ")
	if more := len(p.readers) - most; more > 0 {
		named = fmt.Sprintf("%s and %d more", named, more)
	}
	return fmt.Sprintf("programs of %s (%s) can read the key of the site's certificate: if these users should not have it, leave out %s in this session",
		named, config.YarnModifyACLs, config.RESTCertificate)
}
