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

// maxOperation bounds the message of an operation, in bytes. It grows with the DataNodes
// of a pipeline, of which there are a few.
const maxOperation = 1 << 20

// errOperation is in the error for what is not an operation as the library sends it.
var errOperation = errors.New("not a data transfer operation")

// blockToken takes the block token out of an operation. complete is false where b is only
// the beginning of one. Where there is no token its identifier is empty.
func blockToken(b []byte) (token *creds.Token, complete bool, err error) {
	if len(b) < opPrefix {
		return nil, false, nil
	}
	if version := binary.BigEndian.Uint16(b); version != transferVersion {
		return nil, false, fmt.Errorf("%w: version %d", errOperation, version)
	}
	length, n := protowire.ConsumeVarint(b[opPrefix:])
	switch {
	case n < 0 && len(b) < opPrefix+binary.MaxVarintLen64:
		return nil, false, nil
	case n < 0 || length > maxOperation:
		return nil, false, fmt.Errorf("%w: a message of more than %d bytes", errOperation, maxOperation)
	}
	message := b[opPrefix+n:]
	if len(message) < int(length) {
		return nil, false, nil
	}
	header, err := operationHeader(b[2], message[:length])
	if err != nil {
		return nil, false, err
	}
	if header.GetToken() == nil {
		return new(creds.Token), true, nil
	}
	return pbconv.Token(header.GetToken()), true, nil
}

// operationHeader decodes what the operation of that code has in its first field.
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

// firstField gives the bytes of a message's field 1. Fields are written in the order of
// their numbers.
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
