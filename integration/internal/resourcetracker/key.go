package resourcetracker

import (
	"crypto/hmac"
	"crypto/sha1" // what Hadoop signs tokens with
	"encoding/json"
	"fmt"
)

// MasterKey is a secret that the ResourceManager shares with its NodeManagers and signs
// tokens with (org.apache.hadoop.yarn.server.api.records.MasterKey).
type MasterKey struct {
	ID     int32
	Secret []byte
}

// Password gives that of the token with an identifier (SecretManager.createPassword):
// what a NodeManager compares with the token it is shown.
func (k MasterKey) Password(identifier []byte) []byte {
	mac := hmac.New(sha1.New, k.Secret)
	mac.Write(identifier)
	return mac.Sum(nil)
}

// Format prints the id under every verb, and no byte of the secret.
func (k MasterKey) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "master key %d", k.ID) }

// String is what Format prints.
func (k MasterKey) String() string { return fmt.Sprint(k) }

// MarshalJSON gives the id alone.
func (k MasterKey) MarshalJSON() ([]byte, error) { return json.Marshal(struct{ ID int32 }{k.ID}) }
