// Package commonpb holds the messages of Hadoop RPC itself: headers, connection
// context, SASL, tokens and files of tokens. Generated from proto/bobbin/hadoop/common.
package commonpb
