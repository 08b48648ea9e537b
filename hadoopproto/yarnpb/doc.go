// Package yarnpb holds YARN's three protocols, the records they carry and the
// identifiers of YARN's tokens. Generated from proto/bobbin/hadoop/yarn.
package yarnpb
