// Package pbconv converts between Hadoop's protobuf messages and the plain types of
// records and creds. X converts a message to the record X, XProto the record to the
// message.
//
// The functions are total. Missing messages and fields give zero values; a caller that
// needs a field checks it. The functions set every field of a message, also to its
// default, because Hadoop asks whether a field is present. The package is pure; only
// packages under yarnrpc can import it.
package pbconv

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// Token converts a token; nil stays nil.
func Token(p *commonpb.TokenProto) *creds.Token {
	if p == nil {
		return nil
	}
	return &creds.Token{
		Identifier: p.GetIdentifier(),
		Password:   p.GetPassword(),
		Kind:       p.GetKind(),
		Service:    p.GetService(),
	}
}

// TokenProto converts a token; nil stays nil.
func TokenProto(t *creds.Token) *commonpb.TokenProto {
	if t == nil {
		return nil
	}
	return &commonpb.TokenProto{
		Identifier: append([]byte{}, t.Identifier...), // required field: empty, never nil
		Password:   append([]byte{}, t.Password...),
		Kind:       proto.String(t.Kind),
		Service:    proto.String(t.Service),
	}
}

// Time converts milliseconds since 1970. 0 and negative numbers give the zero time.
func Time(millis int64) time.Time {
	if millis <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis)
}

// Millis converts a time to milliseconds since 1970, the zero time to 0.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// period converts a length of time. A negative one becomes 0. One that is too long
// becomes the longest time.Duration.
func period(n int64, unit time.Duration) time.Duration {
	return time.Duration(min(max(n, 0), math.MaxInt64/int64(unit))) * unit
}

// clamp converts a number to a field of 32 bits. A number out of range becomes the
// nearest number in range, which no server accepts as an amount.
func clamp(n int) int32 {
	return int32(max(math.MinInt32, min(math.MaxInt32, n)))
}

// enum is a generated enumeration type.
type enum interface {
	~int32
	protoreflect.Enum
	String() string
}

// state converts an enumeration value to Hadoop's name of it, without the prefix that
// keeps names apart in protobuf. It returns "" for nil, which was not sent, and for a
// value that is newer than the .proto files.
func state[S ~string, E enum](value *E, prefix string) S {
	if value == nil || (*value).Descriptor().Values().ByNumber((*value).Number()) == nil {
		return ""
	}
	return S(strings.TrimPrefix((*value).String(), prefix))
}

// stateProto is the inverse of state, with the generated map of names. An unknown name
// becomes nil.
func stateProto[E enum, S ~string](s S, prefix string, values map[string]int32) *E {
	number, known := values[prefix+string(s)]
	if !known {
		return nil
	}
	e := E(number)
	return &e
}

func each[P, R any](ps []P, convert func(P) R) []R {
	if len(ps) == 0 {
		return nil
	}
	out := make([]R, len(ps))
	for i, p := range ps {
		out[i] = convert(p)
	}
	return out
}

// mapped converts a list of pairs. If several have the same key, the last one counts, as
// in Java.
func mapped[P any, K comparable, V any](ps []P, pair func(P) (K, V)) map[K]V {
	if len(ps) == 0 {
		return nil
	}
	m := make(map[K]V, len(ps))
	for _, p := range ps {
		k, v := pair(p)
		m[k] = v
	}
	return m
}

func stringMap(ps []*yarnpb.StringStringMapProto) map[string]string {
	return mapped(ps, func(p *yarnpb.StringStringMapProto) (string, string) { return p.GetKey(), p.GetValue() })
}

// entries converts a map to a list in the order of its keys, so that equal maps
// give equal bytes.
func entries[V, P any](m map[string]V, entry func(key string, value V) P) []P {
	if len(m) == 0 {
		return nil
	}
	out := make([]P, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, entry(key, m[key]))
	}
	return out
}

func stringMapProto(m map[string]string) []*yarnpb.StringStringMapProto {
	return entries(m, func(key, value string) *yarnpb.StringStringMapProto {
		return &yarnpb.StringStringMapProto{Key: proto.String(key), Value: proto.String(value)}
	})
}
