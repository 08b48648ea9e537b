// Package yarnpb holds YARN's three protocols, their records and the identifiers of
// YARN's tokens. It is generated from proto/bobbin/hadoop/yarn.
package yarnpb
