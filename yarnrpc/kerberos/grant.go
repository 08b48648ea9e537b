package kerberos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

func newName(p Principal, kind int32) name {
	return name{types.NewPrincipalName(kind, p.Name()), p.Realm}
}

func (n name) equal(m name) bool { return n.realm == m.realm && n.PrincipalName.Equal(m.PrincipalName) }

func (n name) String() string { return n.principal().String() }

// ticketGranting returns the name of a realm's ticket-granting service.
func ticketGranting(realm string) types.PrincipalName {
	return types.PrincipalName{NameType: nametype.KRB_NT_SRV_INST, NameString: []string{"krbtgt", realm}}
}

// grant is a ticket from a KDC for a client.
type grant struct {
	client     name
	ticket     messages.Ticket
	key        types.EncryptionKey
	start, end time.Time
	renewable  time.Time // the end of renewals; zero: not renewable
}

// fresh reports whether the ticket need not be replaced yet. Like UserGroupInformation, a
// Login replaces it after 0.8 of its life.
func (g *grant) fresh(now time.Time) bool {
	return g != nil && now.Before(g.start.Add(g.end.Sub(g.start)*8/10))
}

func (g *grant) valid(now time.Time) bool { return g != nil && now.Before(g.end) }

func newGrant(client name, ticket messages.Ticket, part messages.EncKDCRepPart) *grant {
	g := &grant{client: client, ticket: ticket, key: part.Key, start: part.StartTime, end: part.EndTime, renewable: part.RenewTill}
	if g.start.IsZero() {
		g.start = part.AuthTime
	}
	return g
}

// login gets a ticket-granting ticket with a key of the keytab (RFC 4120 §3.1). conf is the
// configuration that Keytab.Login returned for the keytab.
func login(ctx context.Context, conf *Config, client name, keys *keytab.Keytab) (*grant, error) {
	request, err := messages.NewASReqForTGT(client.realm, conf.Config, client.PrincipalName)
	if err != nil {
		return nil, err
	}
	held := request.ReqBody.EType
	reply, kdc, err := askAS(ctx, conf, request)
	if refusedWith(err, errorcode.KDC_ERR_ETYPE_NOSUPP) {
		// The list applies to the reply's key and to the ticket's session key. The session
		// key may be an AES key even if the account has only RC4 keys.
		request.ReqBody.EType = preferred(held, sasl.EncryptionTypes(), func(int32) bool { return true })
		reply, kdc, err = askAS(ctx, conf, request)
	}
	if refusedWith(err, errorcode.KDC_ERR_PREAUTH_REQUIRED) {
		demand, _ := errors.AsType[messages.KRBError](err)
		if request.PAData, err = prove(keys, client, demand, held); err != nil {
			return nil, err
		}
		reply, kdc, err = askAS(ctx, conf, request)
	}
	if err != nil {
		return nil, refusal(err)
	}
	key, _, err := keys.GetEncryptionKey(client.PrincipalName, client.realm, reply.EncPart.KVNO, reply.EncPart.EType)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWrongKey, err)
	}
	part, err := decryptReply(reply.EncPart, key, keyusage.AS_REP_ENCPART)
	if err != nil {
		return nil, err
	}
	service := name{request.ReqBody.SName, client.realm}
	if !(name{reply.CName, reply.CRealm}).equal(client) || !(name{part.SName, part.SRealm}).equal(service) || part.Nonce != request.ReqBody.Nonce {
		return nil, fmt.Errorf("%w: it holds a ticket of %v for %v", ErrReply, name{reply.CName, reply.CRealm}, name{part.SName, part.SRealm})
	}
	if time.Since(part.AuthTime).Abs() > conf.LibDefaults.Clockskew {
		return nil, fmt.Errorf("%w: kdc %s", skewed(part.AuthTime), kdc)
	}
	return newGrant(client, reply.Ticket, part), nil
}

func refusedWith(err error, code int32) bool {
	refused, is := errors.AsType[messages.KRBError](err)
	return is && refused.ErrorCode == code
}

// askAS sends a request for a ticket-granting ticket. It also returns the address of the KDC
// that has answered.
func askAS(ctx context.Context, conf *Config, request messages.ASReq) (reply messages.ASRep, kdc string, err error) {
	b, err := request.Marshal()
	if err != nil {
		return reply, "", err
	}
	said, err := ask(ctx, conf, request.ReqBody.Realm, b)
	if err != nil {
		return reply, "", err
	}
	if err := reply.Unmarshal(said.body); err != nil {
		return reply, "", fmt.Errorf("%w: %w", ErrReply, err)
	}
	return reply, said.kdc, nil
}

// preferred returns the types for which the function will returns true, each once: first those of
// order, then those of rest.
func preferred(order, rest []int32, will func(int32) bool) []int32 {
	var kinds []int32
	for _, kind := range slices.Concat(order, rest) {
		if will(kind) && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// prove returns the time, encrypted with the client's key (RFC 4120 §5.2.7.2).
func prove(keys *keytab.Keytab, client name, demand messages.KRBError, ours []int32) (types.PADataSequence, error) {
	kind := ours[0]
	var methods types.PADataSequence
	if err := methods.Unmarshal(demand.EData); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReply, err)
	}
	for _, method := range methods {
		if method.PADataType != patype.PA_ETYPE_INFO2 {
			continue
		}
		info, err := method.GetETypeInfo2()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrReply, err)
		}
		for _, entry := range slices.Backward(info) { // at the end, kind is the first type that is in ours
			if slices.Contains(ours, entry.EType) {
				kind = entry.EType
			}
		}
	}
	key, number, err := keys.GetEncryptionKey(client.PrincipalName, client.realm, 0, kind)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWrongKey, err)
	}
	stamp, err := types.GetPAEncTSEncAsnMarshalled()
	if err != nil {
		return nil, err
	}
	sealed, err := crypto.GetEncryptedData(stamp, key, keyusage.AS_REQ_PA_ENC_TIMESTAMP, number)
	if err != nil {
		return nil, err
	}
	value, err := sealed.Marshal()
	if err != nil {
		return nil, err
	}
	return types.PADataSequence{{PADataType: patype.PA_ENC_TIMESTAMP, PADataValue: value}}, nil
}

// maxReferrals bounds the number of realms on the way to a service.
const maxReferrals = 8

// obtain gets a ticket for a service (RFC 4120 §3.3). It follows the KDCs' referrals to other
// realms (RFC 6806 §8).
func obtain(ctx context.Context, conf *Config, tgt *grant, service name) (*grant, error) {
	at, realm := tgt, tgt.client.realm
	for range maxReferrals {
		wanted := service.PrincipalName
		if realm != service.realm && at == tgt {
			wanted = ticketGranting(service.realm) // the KDC may answer with a ticket for a realm on the way
		}
		got, err := exchange(ctx, conf, at, realm, wanted, false)
		if err != nil {
			return nil, err
		}
		if got.ticket.SName.Equal(service.PrincipalName) {
			return got, nil
		}
		at, realm = got, got.ticket.SName.NameString[1]
	}
	return nil, fmt.Errorf("%w: more than %d referrals to other realms", ErrReply, maxReferrals)
}

// renew renews a renewable ticket (RFC 4120 §3.3).
func renew(ctx context.Context, conf *Config, tgt *grant) (*grant, error) {
	return exchange(ctx, conf, tgt, tgt.client.realm, ticketGranting(tgt.client.realm), true)
}

// exchange asks a realm's KDC for a ticket. The result is a ticket for the service, or a
// ticket-granting ticket for a realm that is nearer to the service.
func exchange(ctx context.Context, conf *Config, with *grant, realm string, service types.PrincipalName, renewal bool) (*grant, error) {
	own := *conf.Config
	own.LibDefaults.DefaultTGSEnctypeIDs = preferred(conf.LibDefaults.DefaultTGSEnctypeIDs, sasl.EncryptionTypes(), func(kind int32) bool {
		return slices.Contains(sasl.EncryptionTypes(), kind)
	})
	request, err := messages.NewTGSReq(with.client.PrincipalName, realm, &own, with.ticket, with.key, service, renewal)
	if err != nil {
		return nil, err
	}
	if request.PAData, err = present(with, request.ReqBody); err != nil {
		return nil, err
	}
	b, err := request.Marshal()
	if err != nil {
		return nil, err
	}
	said, err := ask(ctx, conf, realm, b)
	if err != nil {
		return nil, fmt.Errorf("ask for a ticket for %s: %w", service.PrincipalNameString(), refusal(err))
	}
	var reply messages.TGSRep
	if err := reply.Unmarshal(said.body); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrReply, err)
	}
	part, err := decryptReply(reply.EncPart, with.key, keyusage.TGS_REP_ENCPART_SESSION_KEY)
	if err != nil {
		return nil, err
	}
	got := name{part.SName, part.SRealm}
	if !(name{reply.CName, reply.CRealm}).equal(with.client) || part.Nonce != request.ReqBody.Nonce ||
		!got.equal(name{reply.Ticket.SName, reply.Ticket.Realm}) ||
		!part.SName.Equal(service) && !(isTicketGranting(part.SName) && !renewal) {
		return nil, fmt.Errorf("%w: it holds a ticket of %v for %v", ErrReply, name{reply.CName, reply.CRealm}, got)
	}
	return newGrant(with.client, reply.Ticket, part), nil
}

// present returns the proof that the sender of a request holds the ticket (PA-TGS-REQ, RFC 4120
// §3.3.1). The library's own function names the ticket's issuing realm as the client's realm.
// That is wrong if another realm than the client's has issued the ticket.
func present(with *grant, body messages.KDCReqBody) (types.PADataSequence, error) {
	b, err := body.Marshal()
	if err != nil {
		return nil, err
	}
	kind, err := crypto.GetEtype(with.key.KeyType)
	if err != nil {
		return nil, err
	}
	checksum, err := kind.GetChecksumHash(with.key.KeyValue, b, keyusage.TGS_REQ_PA_TGS_REQ_AP_REQ_AUTHENTICATOR_CHKSUM)
	if err != nil {
		return nil, err
	}
	authenticator, err := types.NewAuthenticator(with.client.realm, with.client.PrincipalName)
	if err != nil {
		return nil, err
	}
	authenticator.Cksum = types.Checksum{CksumType: kind.GetHashID(), Checksum: checksum}
	proof, err := messages.NewAPReq(with.ticket, with.key, authenticator)
	if err != nil {
		return nil, err
	}
	value, err := proof.Marshal()
	if err != nil {
		return nil, err
	}
	return types.PADataSequence{{PADataType: patype.PA_TGS_REQ, PADataValue: value}}, nil
}

func isTicketGranting(name types.PrincipalName) bool {
	return len(name.NameString) == 2 && name.NameString[0] == "krbtgt"
}
