package launch

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// TokenFileVariable names the file with a container's Credentials.
const TokenFileVariable = creds.FileVariable

// Held is the part of a container's Credentials that its TaskExecutor uses.
type Held struct {
	Secret []byte // SecretCredentials
	// Tokens are the HDFS tokens for its task hosts, as creds.Credentials.Marshal gives them; nil:
	// none.
	Tokens msg.Secret
}

// ReadCredentials reads a TaskExecutor's Credentials file.
func ReadCredentials(file string) (Held, error) {
	if file == "" {
		return Held{}, fmt.Errorf("read credentials: %s is not set; this process is started by YARN, not by hand", TokenFileVariable)
	}
	found, err := creds.ReadFile(file)
	if err != nil {
		return Held{}, fmt.Errorf("read credentials: %w", err)
	}
	held := Held{Secret: found.Secrets[SecretCredentials]}
	if held.Secret == nil {
		return Held{}, fmt.Errorf("read credentials: %s has no secret %s", file, SecretCredentials)
	}
	if tokens := found.Only(creds.KindHDFSDelegation); len(tokens.Tokens) > 0 {
		held.Tokens = tokens.Marshal()
	}
	return held, nil
}
