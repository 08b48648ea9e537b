package resourcetracker

import (
	"crypto/hmac"
	"crypto/sha1" // Hadoop signs tokens with it
	"encoding/json"
	"fmt"
)

// MasterKey is a secret that the ResourceManager shares with its NodeManagers and signs
// tokens with (org.apache.hadoop.yarn.server.api.records.MasterKey).
type MasterKey struct {
	ID     int32
	Secret []byte
}

// Password returns the password of the token with an identifier (SecretManager.createPassword). A
// NodeManager compares it with that of the token that a client shows.
func (k MasterKey) Password(identifier []byte) []byte {
	mac := hmac.New(sha1.New, k.Secret)
	mac.Write(identifier)
	return mac.Sum(nil)
}

// Format prints the id for every verb, and no byte of the secret.
func (k MasterKey) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "master key %d", k.ID) }

// String returns the text of Format.
func (k MasterKey) String() string { return fmt.Sprint(k) }

// MarshalJSON encodes only the id.
func (k MasterKey) MarshalJSON() ([]byte, error) { return json.Marshal(struct{ ID int32 }{k.ID}) }
