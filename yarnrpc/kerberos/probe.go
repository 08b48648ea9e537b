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

// KDC is the result of Probe for one KDC.
type KDC struct {
	Address string // host:port
	// Err is set if the KDC did not answer, or not as a KDC does. If it is nil, the other fields
	// are set.
	Err error
	// Clock is the KDC's time, and Heard this machine's time when the answer came.
	Clock, Heard time.Time
}

// Ahead returns how far the KDC's clock is ahead of this machine's. It is negative if the KDC's
// clock is behind.
func (k KDC) Ahead() time.Duration { return k.Clock.Sub(k.Heard) }

// Probe asks every KDC of a principal's realm for its time, in the order of their addresses. It
// does not log in: it asks to renew a ticket without sending one. The KDC refuses that
// (KDC_ERR_BADOPTION) with an error that holds its time. The error is ErrKDC if no KDC of the realm
// is known.
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
			kdc.Err = fmt.Errorf("%w: it does not refuse to renew without a ticket", ErrReply)
		}
		kdcs = append(kdcs, kdc)
	}
	return kdcs, nil
}
