package kerberos

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// KDC is a KDC of a realm, as it answered to Probe.
type KDC struct {
	Address string // host:port
	// Err is why it did not answer, or not as a KDC does; nil: the rest counts.
	Err error
	// Clock is the time that it told, and Heard this machine's when the answer came.
	Clock, Heard time.Time
}

// Ahead is how far the KDC's clock goes before this machine's; negative: behind it.
func (k KDC) Ahead() time.Duration { return k.Clock.Sub(k.Heard) }

// Probe asks every KDC of a principal's realm for the time, in the order of their
// addresses. Nobody is logged in: the request is to renew a ticket, without one, which a
// KDC refuses (KDC_ERR_BADOPTION), telling its time. The error is ErrKDC for a realm of which no KDC is known.
func (c *Config) Probe(ctx context.Context, who Principal) ([]KDC, error) {
	who.Realm = cmp.Or(who.Realm, c.LibDefaults.DefaultRealm)
	own := c.Clone()
	addresses, err := own.locate(ctx, who.Realm)
	if err != nil {
		return nil, err
	}
	client := newName(who, nametype.KRB_NT_PRINCIPAL)
	request, err := messages.NewASReqForTGT(client.realm, own.Config, client.PrincipalName)
	if err != nil {
		return nil, err
	}
	types.SetFlag(&request.ReqBody.KDCOptions, flags.Renew)
	b, err := request.Marshal()
	if err != nil {
		return nil, err
	}
	var kdcs []KDC
	for _, address := range slices.Sorted(slices.Values(addresses)) {
		reply, err := askOne(ctx, address, b)
		kdc := KDC{Address: address, Heard: time.Now(), Err: err}
		var refusal messages.KRBError
		switch {
		case err != nil:
		case refusal.Unmarshal(reply) == nil:
			kdc.Clock = refusal.STime.Add(time.Duration(refusal.Susec) * time.Microsecond)
		default:
			kdc.Err = fmt.Errorf("%w: it does not refuse what no KDC may grant", ErrReply)
		}
		kdcs = append(kdcs, kdc)
	}
	return kdcs, nil
}
