package launch

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// TokenFileVariable names the file that holds a container's Credentials.
const TokenFileVariable = "HADOOP_TOKEN_FILE_LOCATION"

// ReadSecret reads a secret out of a container's Credentials file.
func ReadSecret(file, alias string) ([]byte, error) {
	if file == "" {
		return nil, fmt.Errorf("read secret %s: %s is not set; this process is started by YARN, not by hand", alias, TokenFileVariable)
	}
	credentials, err := creds.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read secret %s: %w", alias, err)
	}
	secret, there := credentials.Secrets[alias]
	if !there {
		return nil, fmt.Errorf("read secret %s: %s holds none of this name", alias, file)
	}
	return secret, nil
}
