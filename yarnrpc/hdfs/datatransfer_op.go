package hdfs

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/writable"
)

// An operation, as a client begins it (DataTransferProtocol, Op, Sender):
//
//	version: 2 │ code: 1 │ length: varint │ message, whose field 1 is a header with the block token
const (
	transferVersion = 28
	opWriteBlock    = 80
	opReadBlock     = 81
	opBlockChecksum = 85
	opPrefix        = 3 // length of version and code
)

// maxOperation bounds the message of an operation, in bytes. A message grows with the number of
// DataNodes in its pipeline, which is small.
const maxOperation = 1 << 20

// errOperation is wrapped by errors about bytes that are not an operation of the library.
var errOperation = errors.New("not a data transfer operation")

// blockAccess is the credential that an operation carries for its block.
type blockAccess struct {
	pool  string       // block pool of the NameNode that has issued the token
	token *creds.Token // its identifier is empty if there is no token
}

// access returns the credential of an operation; nil if b is an incomplete operation.
func access(b []byte) (*blockAccess, error) {
	if len(b) < opPrefix {
		return nil, nil
	}
	if version := binary.BigEndian.Uint16(b); version != transferVersion {
		return nil, fmt.Errorf("%w: version %d", errOperation, version)
	}
	length, n := protowire.ConsumeVarint(b[opPrefix:])
	switch {
	case n < 0 && len(b) < opPrefix+binary.MaxVarintLen64:
		return nil, nil
	case n < 0 || length > maxOperation:
		return nil, fmt.Errorf("%w: a message of more than %d bytes", errOperation, maxOperation)
	}
	message := b[opPrefix+n:]
	if len(message) < int(length) {
		return nil, nil
	}
	header, err := operationHeader(b[2], message[:length])
	if err != nil {
		return nil, err
	}
	shown := &blockAccess{pool: header.GetBlock().GetPoolId(), token: new(creds.Token)}
	if header.GetToken() != nil {
		shown.token = pbconv.Token(header.GetToken())
	}
	return shown, nil
}

// operationHeader decodes the header in the first field of an operation's message.
func operationHeader(code byte, message []byte) (*hdfspb.BaseHeaderProto, error) {
	first, err := firstField(message)
	if err != nil {
		return nil, err
	}
	switch code {
	case opReadBlock, opWriteBlock:
		var header hdfspb.ClientOperationHeaderProto
		if err := proto.Unmarshal(first, &header); err != nil {
			return nil, fmt.Errorf("%w: %w", errOperation, err)
		}
		return header.GetBaseHeader(), nil
	case opBlockChecksum:
		var header hdfspb.BaseHeaderProto
		if err := proto.Unmarshal(first, &header); err != nil {
			return nil, fmt.Errorf("%w: %w", errOperation, err)
		}
		return &header, nil
	default:
		return nil, fmt.Errorf("%w: code %d", errOperation, code)
	}
}

// firstField returns the bytes of a message's field 1. Fields are written in the order of their
// numbers.
func firstField(message []byte) ([]byte, error) {
	number, kind, n := protowire.ConsumeTag(message)
	if n < 0 || number != 1 || kind != protowire.BytesType {
		return nil, fmt.Errorf("%w: no header", errOperation)
	}
	field, n := protowire.ConsumeBytes(message[n:])
	if n < 0 {
		return nil, fmt.Errorf("%w: %w", errOperation, protowire.ParseError(n))
	}
	return field, nil
}

// holder returns the user to whom the token was given, "" if its identifier is not understood.
// told is the protection that the NameNode has put into the token for the DataNode to require. It
// is nil without dfs.namenode.send.qop.enabled; the DataNode then decides.
func (a *blockAccess) holder() (user string, told []byte) {
	identifier := a.token.Identifier
	if len(identifier) > 0 && int8(identifier[0]) > 0 { // BlockTokenIdentifier.readFields distinguishes the formats by this
		var p hdfspb.BlockTokenSecretProto
		if err := proto.Unmarshal(identifier, &p); err != nil {
			return "", nil
		}
		return p.GetUserId(), p.GetHandshakeSecret()
	}
	r := writable.NewReader(identifier)
	r.VLong() // the time at which it expires
	r.VInt()  // the id of the NameNode's key
	user = r.LongText()
	if r.Err() != nil {
		return "", nil
	}
	r.LongText() // pool
	r.VLong()    // block

	for range 2 { // access modes, storage types
		for range r.Count() {
			r.Text()
		}
	}
	for range r.Count() {
		r.LongText() // storage
	}
	told = r.Bytes()
	if r.Err() != nil { // identifiers often end before this field
		return user, nil
	}
	return user, told
}
