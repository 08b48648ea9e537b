// Package commonpb holds the messages of Hadoop RPC itself: headers, connection context,
// SASL, tokens and credentials files. It is generated from proto/bobbin/hadoop/common.
package commonpb
