package creds

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/writable"
)

// FileVariable is the environment variable with which YARN and other launchers name a
// process' credentials file (UserGroupInformation.HADOOP_TOKEN_FILE_LOCATION).
const FileVariable = "HADOOP_TOKEN_FILE_LOCATION"

// Format is the format of written credentials (Credentials.SerializedFormat). Every
// reader here accepts both.
type Format byte

const (
	// Writable is version 0, Hadoop's default and the format of
	// ContainerLaunchContext.Tokens.
	Writable Format = 0
	// Protobuf is version 1, which Hadoop 2 does not read.
	Protobuf Format = 1
)

// Marshal returns the Writable format, which every version of Hadoop reads. It is the
// format of ContainerLaunchContext.Tokens and of credentials files. Equal credentials
// give equal bytes, the same as Hadoop's (see javaOrder).
func (c *Credentials) Marshal() []byte {
	b := append([]byte(magic), byte(Writable))
	b = writable.AppendVLong(b, int64(len(c.Tokens)))
	for _, alias := range javaOrder(c.Tokens) {
		b = writable.AppendText(b, alias)
		b = appendToken(b, c.Tokens[alias])
	}
	b = writable.AppendVLong(b, int64(len(c.Secrets)))
	for _, alias := range javaOrder(c.Secrets) {
		b = writable.AppendText(b, alias)
		b = writable.AppendBytes(b, c.Secrets[alias])
	}
	return b
}

// MarshalFormat is Marshal with the format f.
func (c *Credentials) MarshalFormat(f Format) ([]byte, error) {
	switch f {
	case Writable:
		return c.Marshal(), nil
	case Protobuf:
		return c.marshalProtobuf()
	default:
		return nil, fmt.Errorf("marshal credentials: %w: unknown format %d", ErrFormat, f)
	}
}

func (c *Credentials) marshalProtobuf() ([]byte, error) {
	var p commonpb.CredentialsProto
	for _, alias := range javaOrder(c.Tokens) {
		t := c.Tokens[alias]
		p.Tokens = append(p.Tokens, &commonpb.CredentialsKVProto{Alias: proto.String(alias), Token: &commonpb.TokenProto{
			Identifier: nonNil(t.Identifier), Password: nonNil(t.Password), // required fields, which may be empty
			Kind: proto.String(t.Kind), Service: proto.String(t.Service),
		}})
	}
	for _, alias := range javaOrder(c.Secrets) {
		p.Secrets = append(p.Secrets, &commonpb.CredentialsKVProto{Alias: proto.String(alias), Secret: nonNil(c.Secrets[alias])})
	}
	message, err := proto.Marshal(&p)
	if err != nil {
		return nil, fmt.Errorf("marshal credentials: %w", err)
	}
	return protowire.AppendBytes(append([]byte(magic), byte(Protobuf)), message), nil
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// WriteFile writes a credentials file that only its owner can read
// (Credentials.writeTokenStorageFile). It replaces an existing file atomically: a
// reader gets either the old or the new one.
func (c *Credentials) WriteFile(path string, f Format) error {
	b, err := c.MarshalFormat(f)
	if err != nil {
		return err
	}
	if err := replaceFile(path, b); err != nil {
		return fmt.Errorf("write credentials file: %w", err)
	}
	return nil
}

func replaceFile(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
