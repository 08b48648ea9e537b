package sim

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster"
	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// tokens are the delegation tokens of the NameNode, and the KDC.
type tokens struct {
	interval time.Duration            // a renewal lasts so long
	most     time.Duration            // no renewal goes beyond this age of a token
	keytab   bool                     // the user gives masters a keytab
	ends     []time.Time              // of the issued tokens, by their numbers
	away     time.Time                // until then the KDC answers nobody
	tickets  map[*engine.Process]bool // of the masters that have logged in
}

// The least renewal interval of tokens, how often it is doubled at most, and Hadoop's defaults.
const (
	leastInterval          = 30 * time.Second
	doublings              = 4
	longInterval, longLife = 24 * time.Hour, 7 * 24 * time.Hour
)

// newTokens draws how long tokens last. In a quarter of the schedules the NameNode has Hadoop's defaults. In half of
// these the applications have no keytab, and keep the tokens of their submission.
func newTokens(w *World) *tokens {
	r := w.stream("tokens")
	t := &tokens{keytab: true, tickets: make(map[*engine.Process]bool)}
	long := r.IntN(4) == 0
	keytab := r.IntN(2) == 0
	interval := leastInterval << r.IntN(doublings+1)
	renewals := max(1, r.IntN(4))
	switch {
	case w.schedule.Interval > 0:
		t.interval, t.most = w.schedule.Interval, w.schedule.Interval
	case long:
		t.interval, t.most, t.keytab = longInterval, longLife, keytab
	default:
		t.interval, t.most = interval, interval*time.Duration(renewals)
	}
	return t
}

// The principals of the user, whom masters log in as, and of YARN's ResourceManager.
const userPrincipal, yarnPrincipal = "alice@SIM", "rm@SIM"

// root is the URI of the file system.
const root = "hdfs://" + dfsmodel.Authority + "/"

// issue makes a token. YARN renews its tokens as long as it can: they end with their life.
func (t *tokens) issue(now time.Time, renewer string) *creds.Token {
	most := now.Add(t.most)
	ends := now.Add(t.interval)
	if renewer == yarnPrincipal {
		ends = most
	}
	t.ends = append(t.ends, ends)
	// AbstractDelegationTokenIdentifier: version, owner, renewer, real user, times, number, key.
	id := []byte{0}
	for _, text := range []string{"alice", renewer, ""} {
		id = append(append(id, byte(len(text))), text...)
	}
	for _, n := range []int64{now.UnixMilli(), most.UnixMilli(), int64(len(t.ends)), 1} {
		id = binary.BigEndian.AppendUint64(append(id, 0x88), uint64(n)) // WritableUtils#writeVLong of eight bytes
	}
	return &creds.Token{Identifier: id, Password: []byte("password"), Kind: creds.KindHDFSDelegation, Service: creds.NameserviceService(dfsmodel.Authority)}
}

// find returns what the NameNode knows of a token; nil: it does not know it.
func (t *tokens) find(token *creds.Token) (about identifier.Delegation, ends *time.Time) {
	if token == nil {
		return about, nil
	}
	about, err := identifier.DecodeDelegation(token)
	if n := int(about.Sequence); err == nil && 0 < n && n <= len(t.ends) {
		return about, &t.ends[n-1]
	}
	return about, nil
}

// renew renews a token, and returns when it ends.
func (t *tokens) renew(now time.Time, token *creds.Token) (time.Time, error) {
	about, ends := t.find(token)
	if ends == nil || !now.Before(*ends) {
		return time.Time{}, invalidToken(renewToken)
	}
	if *ends = now.Add(t.interval); about.Max.Before(*ends) {
		*ends = about.Max
	}
	return *ends, nil
}

// invalidToken is the NameNode's exception for a token that has ended. Without a method the login fails.
func invalidToken(method dfsmodel.Kind) *yarnrpc.RemoteError {
	return &yarnrpc.RemoteError{
		Address: dfsmodel.Authority, Method: string(method),
		Class: "org.apache.hadoop.security.token.SecretManager$InvalidToken", Message: "token can't be found in cache",
	}
}

// Calls to the NameNode for tokens.
const (
	getToken   dfsmodel.Kind = "getDelegationToken"
	renewToken dfsmodel.Kind = "renewDelegationToken"
)

// login is how a process proves to HDFS who it is. The zero login has a ticket of the user.
type login struct {
	keytab bool                      // it gets tickets from the KDC
	tokens func() *creds.Credentials // what it holds now; nil: it has no tokens, but tickets
}

// getTicket gets a ticket from the KDC for a call that needs one. A call for a new token always does, because on
// real clusters the last ticket has ended by then. The other calls need only the process' first ticket. While the
// KDC is away, the process tries for some time.
func (c caller) getTicket(ctx context.Context, op dfsmodel.Operation) error {
	t := c.hdfs.tokens
	if !c.login.keytab || op.Kind != getToken && t.tickets[c.process] {
		return nil
	}
	if now := c.w.engine.Now(); now.Before(t.away) {
		wait := min(between(c.jitter, leastRetries, mostRetries), t.away.Sub(now))
		if err := sched.Sleep(ctx, wait); err != nil {
			return dfsmodel.Abandoned(ctx, op)
		}
		if now = c.w.engine.Now(); now.Before(t.away) {
			c.w.meets(refused, string(op.Kind))
			return &yarnrpc.CallError{Address: dfsmodel.Authority, Method: string(op.Kind), Err: kerberos.ErrKDC}
		}
	}
	t.tickets[c.process] = true
	return nil
}

// checkToken is the login of a call. Each call logs in, as if connections were never used again. A DataNode
// that gets a block wants no delegation token.
func (c caller) checkToken(op dfsmodel.Operation, now time.Time) error {
	if c.login.tokens == nil || op.Kind == dfsmodel.WriteBlock {
		return nil
	}
	_, ends := c.hdfs.tokens.find(c.login.tokens().ByKind(creds.KindHDFSDelegation))
	if ends != nil && now.Before(*ends) {
		return nil
	}
	c.w.meets(expired, string(op.Kind))
	c.w.watch.refuse(c.process, op, ends)
	return &yarnrpc.CallError{Address: dfsmodel.Authority, Method: string(op.Kind), Err: invalidToken("")}
}

// issuer makes a process' calls for tokens.
type issuer struct{ caller }

var _ tokenmanager.FileSystem = issuer{}

func (h *hdfs) issuer(p *engine.Process, l login) issuer {
	return issuer{caller{h, p, h.w.stream("tokens of " + p.Name), l}}
}

// DelegationToken implements tokenmanager.FileSystem.
func (i issuer) DelegationToken(ctx context.Context, _, renewer string) (token *creds.Token, err error) {
	err = i.Call(ctx, dfsmodel.Operation{Client: i.process.Name, Kind: getToken, Path: "/"}, func(now time.Time) error {
		token = i.hdfs.tokens.issue(now, renewer)
		if renewer != yarnPrincipal {
			i.w.facts[Tokens]++
		}
		return nil
	})
	return token, err
}

// RenewDelegationToken implements tokenmanager.FileSystem.
func (i issuer) RenewDelegationToken(ctx context.Context, _ string, token *creds.Token) (ends time.Time, err error) {
	err = i.Call(ctx, dfsmodel.Operation{Client: i.process.Name, Kind: renewToken, Path: "/"}, func(now time.Time) (err error) {
		ends, err = i.hdfs.tokens.renew(now, token)
		return err
	})
	return ends, err
}

// security is what the client of an application tells its masters.
func (t *tokens) security() launch.Security {
	s := launch.Security{FileSystems: []string{root}}
	if t.keytab {
		s.Principal = userPrincipal
	}
	return s
}

// submissionTokens gets the tokens with which a client submits an application.
func (c *client) submissionTokens(ctx context.Context) (msg.Secret, error) {
	token, err := again(ctx, func() (*creds.Token, error) {
		return c.w.hdfs.issuer(c.process, login{}).DelegationToken(ctx, root, yarnPrincipal)
	})
	if err != nil {
		return nil, fmt.Errorf("get tokens for a submission: %w", err)
	}
	held := creds.New()
	held.Tokens[token.Service] = token
	return held.Marshal(), nil
}

// access returns how a master reaches HDFS, and how it gets new tokens. With a keytab it shows no tokens.
func (m *master) access(s launch.Security, own *creds.Credentials) (login, appmaster.Tokens) {
	h := m.w.hdfs
	t := appmaster.Tokens{Own: own, RenewInterval: h.tokens.interval}
	if s.Principal == "" {
		return login{tokens: func() *creds.Credentials { return own }}, t
	}
	l := login{keytab: true}
	t.Principal = s.Principal
	files := tokenmanager.HadoopFS{Files: h.issuer(m.process, l), Roots: s.FileSystems, Renewer: s.Principal}
	t.Provider = &provider{HadoopFS: files, master: m}
	return l, t
}

// provider is a master's provider. It notes for a rule when the master must try again after a failure.
type provider struct {
	tokenmanager.HadoopFS
	master *master
	ends   time.Time // of the last tokens
}

// While old tokens are valid, a master tries again after half of their remaining life, but after leastPause at
// the earliest. When they have ended, it tries again after longestPause at the latest.
const leastPause, longestPause = 10 * time.Second, 5 * time.Minute

// Obtain implements tokenmanager.Provider.
func (p *provider) Obtain(ctx context.Context) (tokenmanager.Obtained, error) {
	obtained, err := p.HadoopFS.Obtain(ctx)
	now := sched.Now(ctx)
	switch left := p.ends.Sub(now); {
	case err == nil:
		p.ends = obtained.Ends
	case left > 0:
		p.master.retryBy = now.Add(max(left/2, leastPause))
	default:
		p.master.retryBy = now.Add(longestPause)
	}
	return obtained, err
}
