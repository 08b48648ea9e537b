package security

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// tooLong bounds the time in which a server must end a connection. It is many times the longest of the server's own
// limits, REST's 30 s for a body.
const tooLong = 5 * time.Minute

// TestNobodyElseGetsIntoAJob tries many attacks at once on one job. It would catch a job that an attack disturbs
// although no connection was accepted. The comment of each part says what else it would catch.
func TestNobodyElseGetsIntoAJob(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, append(keytabOptions(alice), "-p", "2", "-s", "1")...)
	before, running := d.Details(t), processes(t, d)
	t.Run("and", func(t *testing.T) {
		for name, try := range map[string]func(*testing.T, *bobbintest.Dawdler){
			"roles let only their own in":                   tryDoors,
			"conversations cannot be repeated":              tryReplays,
			"what is said under another grant is not heard": tryOtherGrants,
			"REST lets only the owner in":                   tryREST,
			"others have no rights":                         tryOthersRights,
			"other users of a node see no secret":           tryAsNobody,
			"processes have the tokens that they need":      checkHeld,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				try(t, d)
			})
		}
	})
	if now := d.Details(t); now.State != before.State || now.Timestamps[msg.JobRestarting] != before.Timestamps[msg.JobRestarting] {
		t.Errorf("the job was %s and is %s, restarted at %d", before.State, now.State, now.Timestamps[msg.JobRestarting])
	}
	if diff := cmp.Diff(running, processes(t, d)); diff != "" {
		t.Errorf("other processes run (-before +after):\n%s", diff)
	}
	d.CheckSucceeds(t)
}

// processes returns the processes of a job's master, workers and hosts.
func processes(t *testing.T, d *bobbintest.Dawdler) (pids []int) {
	t.Helper()
	for _, p := range bobbintest.Processes(t, d.Application) {
		if p.Role != bobbintest.Other {
			pids = append(pids, p.PID)
		}
	}
	slices.Sort(pids)
	return pids
}

// tryDoors connects to the servers of a running job with credentials that an attacker might have. It would catch a
// server that accepts any certificate, or one that is valid for another server.
func tryDoors(t *testing.T, d *bobbintest.Dawdler) {
	worker := d.First(t, bobbintest.TaskExecutor)
	told, err := launch.Decode[launch.TaskExecutor](worker.Variable(t, launch.Variable))
	if err != nil {
		t.Fatal(err)
	}
	// The credentials that only root can steal here, and those that their holder can make.
	workers := parse(t, worker.Credentials(t).Secrets[launch.SecretCredentials])
	job, container := ids.JobID(d.Job), ids.ResourceID(worker.Container)
	hosts, others := issue(t, workers, job), issue(t, workers, ids.JobID(strings.Repeat("0", len(job))))
	stranger := foreign(t, d.Application, container)

	master, data := told.AMAddress, dataAddress(t, d.First(t, bobbintest.TaskHost))
	for _, c := range []struct {
		who     string
		shows   *tls.Certificate
		address string
		open    bool
	}{
		{"a worker at the master's", keyPair(t, workers), master, true}, // without it the others prove nothing
		{"somebody without a certificate at the master's", nil, master, false},
		{"a worker of another cluster at the master's", keyPair(t, stranger), master, false},
		{"a task host at the master's", keyPair(t, hosts), master, false},
		{"a host of the job at a host's", keyPair(t, hosts), data, true},
		{"somebody without a certificate at a host's", nil, data, false},
		{"a host of another cluster at a host's", keyPair(t, issue(t, stranger, job)), data, false},
		{"a host of another job at a host's", keyPair(t, others), data, false},
		{"a host with a certificate that has ended at a host's", expired(t, workers, hosts.Identity()), data, false},
	} {
		err := knock(t, c.address, c.shows)
		if open := err == nil; open != c.open {
			t.Errorf("%s: the connection is accepted: %t, want %t; %v", c.who, open, c.open, err)
		}
	}
}

// knock shows a certificate to a server without checking the server's own, and returns the reason of a refusal.
func knock(t *testing.T, address string, certificate *tls.Certificate) error {
	t.Helper()
	config := &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, NextProtos: []string{"h2"}} // like an attacker
	if certificate != nil {
		config.Certificates = []tls.Certificate{*certificate}
	}
	raw, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	conn := tls.Client(raw, config)
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(tooLong)); err != nil {
		t.Fatal(err)
	}
	if err := conn.HandshakeContext(t.Context()); err != nil {
		return err
	}
	// In TLS 1.3 the client learns whether its certificate is accepted at its next read: from an alert, or from any
	// message of a server that has accepted it.
	_ = conn.CloseWrite() // the server may have closed the connection already
	_, err = conn.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection to %s that was ended stays open", address)
	}
	if alert, is := errors.AsType[*net.OpError](err); is && alert.Op == "remote error" {
		return err
	}
	return nil
}

func parse(t *testing.T, text []byte) *pki.Credentials {
	t.Helper()
	credentials, err := pki.ParsePEM(text)
	if err != nil {
		t.Fatal(err)
	}
	return credentials
}

// issue makes the credentials of a task host with a worker's.
func issue(t *testing.T, worker *pki.Credentials, job ids.JobID) *pki.Credentials {
	t.Helper()
	host, err := worker.IssueTaskHost(job, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return host
}

// foreign returns credentials of a worker with the same name from another authority.
func foreign(t *testing.T, application string, container ids.ResourceID) *pki.Credentials {
	t.Helper()
	authority, err := pki.NewAuthority(application, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	worker, err := authority.IssueTaskExecutor(container, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return worker
}

// keyPair returns the TLS key pair of credentials.
func keyPair(t *testing.T, c *pki.Credentials) *tls.Certificate {
	t.Helper()
	text, err := c.PEM()
	if err != nil {
		t.Fatal(err)
	}
	return pair(t, text)
}

func pair(t *testing.T, text msg.Secret) *tls.Certificate {
	t.Helper()
	certificate, err := tls.X509KeyPair(text, text)
	if err != nil {
		t.Fatal(err)
	}
	return &certificate
}

// expired returns a task host's certificate that ended a minute ago.
func expired(t *testing.T, worker *pki.Credentials, host pki.Identity) *tls.Certificate {
	t.Helper()
	issuer := keyPair(t, worker)
	key, ok := issuer.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		t.Fatalf("a key of type %T", issuer.PrivateKey)
	}
	identity, err := url.Parse(host.String())
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), URIs: []*url.URL{identity},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(-time.Minute),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, issuer.Leaf, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: append([][]byte{der}, issuer.Certificate...), PrivateKey: key}
}

// dataAddress returns the address at which a task host receives records: its only open port.
func dataAddress(t *testing.T, host bobbintest.Process) string {
	t.Helper()
	found := host.Listens(t)
	if len(found) != 1 {
		t.Fatalf("task host %d listens at %v, want one port", host.PID, found)
	}
	return found[0].String()
}
