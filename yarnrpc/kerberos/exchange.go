package kerberos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

const (
	// maxReply bounds a KDC's answer, in bytes. Tickets of users in very many groups have some 64
	// KiB.
	maxReply = 1 << 20
	// replyTime is the time for one KDC's answer before the next KDC is asked.
	replyTime = 10 * time.Second
)

var (
	// ErrKDC says that no KDC of the realm answers.
	ErrKDC = errors.New("no kdc of the realm answers over TCP: start one, or correct its address in krb5.conf")
	// ErrReply says that a KDC's answer breaks the protocol or does not match the request.
	ErrReply = errors.New("bad answer from the kdc")
	// ErrClockSkew says that the clocks of this machine and of the KDC or server differ too much.
	// The limit is usually 5 minutes.
	ErrClockSkew = errors.New("the clocks differ too much: set this machine's clock")
	// ErrUnknownClient says that the KDC does not know the principal that logs in.
	ErrUnknownClient = errors.New("the kdc does not know this user: check the principal and its realm")
	// ErrUnknownService says that the KDC does not know the service.
	ErrUnknownService = errors.New("the kdc does not know this service: check the host's name and its realm ([domain_realm] of krb5.conf)")
	// ErrWrongKey says that the keytab's key differs from the KDC's.
	ErrWrongKey = errors.New("the key differs from the kdc's: export the keytab anew")
	// ErrExpired says that a ticket has expired.
	ErrExpired = errors.New("the ticket has expired: run kinit")
	// ErrLocked says that the account may not log in.
	ErrLocked = errors.New("the account or its password has expired, or is locked")
)

// meaning returns this package's error for an error code of RFC 4120 §7.5.9.
func meaning(code int32) error {
	switch code {
	case errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN:
		return ErrUnknownClient
	case errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN:
		return ErrUnknownService
	case errorcode.KDC_ERR_PREAUTH_FAILED, errorcode.KRB_AP_ERR_BAD_INTEGRITY:
		return ErrWrongKey
	case errorcode.KRB_AP_ERR_SKEW:
		return ErrClockSkew
	case errorcode.KRB_AP_ERR_TKT_EXPIRED:
		return ErrExpired
	case errorcode.KDC_ERR_NAME_EXP, errorcode.KDC_ERR_KEY_EXPIRED, errorcode.KDC_ERR_CLIENT_REVOKED:
		return ErrLocked
	case errorcode.KDC_ERR_ETYPE_NOSUPP:
		return errNoCommonType
	}
	return errRefused
}

var (
	errNoCommonType = errors.New("the kdc and this client have no encryption type in common: give the account an aes256-cts key")
	errRefused      = errors.New("the kdc refuses the request")
)

// refusal adds this package's error to an error that is a KDC's refusal. It keeps the KDC's text.
func refusal(err error) error {
	refused, is := errors.AsType[messages.KRBError](err)
	if !is {
		return err
	}
	reason := meaning(refused.ErrorCode)
	if errors.Is(reason, ErrClockSkew) { // every refusal holds the KDC's time
		reason = skewed(refused.STime)
	}
	return fmt.Errorf("%w: %w", reason, err)
}

// skewed returns ErrClockSkew with the difference to the KDC's time, which has just arrived.
func skewed(told time.Time) error {
	ahead, direction := time.Since(told).Round(time.Second), "ahead of"
	if ahead < 0 {
		direction = "behind"
	}
	return fmt.Errorf("%w: it is %v %s the kdc's", ErrClockSkew, ahead.Abs(), direction)
}

// answer is a KDC's answer.
type answer struct {
	kdc  string // its address
	body []byte
}

// ask sends a request to the KDCs of the realm, one after the other, until one answers. It speaks
// TCP (RFC 4120 §7.2.2). If the KDC refuses, the error is a messages.KRBError and names the KDC.
func ask(ctx context.Context, conf *Config, realm string, request []byte) (answer, error) {
	kdcs, err := conf.locate(ctx, realm)
	if err != nil {
		return answer{}, err
	}
	var failed []error
	for _, kdc := range kdcs {
		reply, err := askOne(ctx, kdc, request)
		if err != nil {
			if !errors.Is(err, ErrReply) {
				err = errors.New(err.Error()) // only its text: the caller could take its type for an error about the service's address
			}
			failed = append(failed, fmt.Errorf("%s: %w", kdc, err))
			continue
		}
		var refusal messages.KRBError
		if refusal.Unmarshal(reply) == nil {
			return answer{}, fmt.Errorf("kdc %s: %w", kdc, refusal)
		}
		return answer{kdc, reply}, nil
	}
	if err := ended(ctx); err != nil {
		return answer{}, err
	}
	return answer{}, fmt.Errorf("%w: realm %s: %w", ErrKDC, realm, errors.Join(failed...))
}

// ended returns the cause of a context's end, or nil if it has not ended. After the deadline it
// waits for the context's end, because a connection with the same deadline may time out a moment
// earlier.
func ended(ctx context.Context) error {
	if deadline, limited := ctx.Deadline(); limited && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	return context.Cause(ctx)
}

func askOne(ctx context.Context, address string, request []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() {
		conn.SetDeadline(time.Unix(1, 0)) //nolint:errcheck // a closed connection does not block
	})
	defer stop()
	framed := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(request)), uint32(len(request)))
	if _, err := conn.Write(append(framed, request...)); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxReply {
		return nil, fmt.Errorf("%w: %d bytes, more than %d", ErrReply, n, maxReply)
	}
	reply := make([]byte, n)
	if _, err := io.ReadFull(conn, reply); err != nil {
		return nil, err
	}
	return reply, nil
}

// decryptReply decrypts the part of an answer that only the requester can read. The library's
// function panics if the part is too short; decryptReply returns ErrReply.
func decryptReply(part types.EncryptedData, key types.EncryptionKey, usage uint32) (messages.EncKDCRepPart, error) {
	var plain messages.EncKDCRepPart
	kind, err := crypto.GetEtype(part.EType)
	if err != nil {
		return plain, fmt.Errorf("%w: %w", ErrReply, err)
	}
	if part.EType != key.KeyType || len(part.Cipher) < kind.GetConfounderByteSize()+kind.GetHMACBitLength()/8 {
		return plain, fmt.Errorf("%w: %d bytes encrypted with type %d, but the key has type %d", ErrReply, len(part.Cipher), part.EType, key.KeyType)
	}
	b, err := crypto.DecryptEncPart(part, key, usage)
	if err != nil {
		return plain, fmt.Errorf("%w: %w", ErrWrongKey, err)
	}
	if err := plain.Unmarshal(b); err != nil {
		return plain, fmt.Errorf("%w: %w", ErrReply, err)
	}
	return plain, nil
}
