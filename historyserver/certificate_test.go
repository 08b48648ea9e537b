package historyserver

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/internal/sitecert"
	"github.com/bobbin-yarn/bobbin/internal/testing/sitecerttest"
)

// TestAReplacedCertificateIsServed would catch a history server of months that keeps a certificate after its end although the
// site has replaced the files, one that loses its certificate while the files are replaced one after the other, one that says
// nothing of all that, and a log with a line each minute.
func TestAReplacedCertificateIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const month = 30 * 24 * time.Hour
		authority, dir := sitecerttest.NewAuthority(t), t.TempDir()
		issue := func(life time.Duration) (certificate, key []byte) {
			site := sitecerttest.NewSite(t, "history.example")
			site.Template.NotBefore, site.Template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(life)
			own, issuer, key := authority.Issue(t, site)
			return slices.Concat(own, issuer), key
		}
		certificate, key := issue(month + time.Hour)
		sitecerttest.File(t, dir, "own.pem", certificate)
		sitecerttest.File(t, dir, "own.key", key)
		read := func() (*sitecert.Certificate, error) {
			return sitecert.Read(filepath.Join(dir, "own.pem"), filepath.Join(dir, "own.key"), time.Now())
		}
		first, err := read()
		if err != nil {
			t.Fatal(err)
		}
		logger, hook := logtest.NewNullLogger()
		r := renewing(first, read, logger)
		served := sitecert.Server(r.current.Load)
		ctx, stop := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { r.watch(ctx) })
		check := func(want *sitecert.Certificate, lines ...string) {
			t.Helper()
			synctest.Wait()
			if got, err := served.GetCertificate(&tls.ClientHelloInfo{}); err != nil || !got.Leaf.NotAfter.Equal(want.Ends()) {
				t.Errorf("the server has the certificate until %s, want %s; error %v", got.Leaf.NotAfter, want.Ends(), err)
			}
			var logged []string
			for _, e := range hook.AllEntries() {
				logged = append(logged, e.Message)
			}
			if !slices.EqualFunc(logged, lines, strings.HasPrefix) {
				t.Errorf("logged %q, want %q", logged, lines)
			}
			hook.Reset()
		}
		time.Sleep(time.Hour - renewPause)
		check(first)
		time.Sleep(10 * renewPause)
		check(first, "the site's certificate ends on")
		next, nextKey := issue(time.Hour)
		if err := os.WriteFile(filepath.Join(dir, "own.key"), nextKey, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * renewPause)
		check(first, "the certificate cannot be read again")
		if err := os.WriteFile(filepath.Join(dir, "own.pem"), next, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(renewPause)
		second, err := read()
		if err != nil {
			t.Fatal(err)
		}
		check(second, "the certificate is replaced", "the site's certificate ends on")
		time.Sleep(time.Hour)
		check(second, "clients refuse the certificate: it ended on")
		stop()
		watching.Wait()
	})
}

// TestAHungReadDoesNotHoldTheEnd would catch a history server that does not end while the file system of its certificate does
// not answer, and one that reads the files again and again meanwhile.
func TestAHungReadDoesNotHoldTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		own, issuer, key := sitecerttest.NewAuthority(t).Issue(t, sitecerttest.NewSite(t, "history.example"))
		dir := t.TempDir()
		certificate, err := sitecert.Read(sitecerttest.File(t, dir, "own.pem", slices.Concat(own, issuer)), sitecerttest.File(t, dir, "own.key", key), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		logger, _ := logtest.NewNullLogger()
		away := make(chan struct{})
		var reads atomic.Int64
		r := renewing(certificate, func() (*sitecert.Certificate, error) {
			reads.Add(1)
			<-away
			return certificate, nil
		}, logger)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.watch(ctx)
		}()
		time.Sleep(10 * renewPause)
		stop()
		synctest.Wait()
		if n := reads.Load(); n != 1 {
			t.Errorf("%d reads of a file system that does not answer, want 1", n)
		}
		select {
		case <-ended:
		default:
			t.Error("the server waits for its certificate")
		}
		close(away)
	})
}
