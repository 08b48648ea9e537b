package config

import (
	"errors"
	"strings"
	"testing"
)

// TestKeystoresAreExplained would catch a user of Flink who names a keystore and is told the nearest option, a PEM file.
func TestKeystoresAreExplained(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"security.ssl.rest.keystore":               "openssl pkcs12 -in KEYSTORE -nodes",
		"security.ssl.rest.keystore-password":      "openssl pkcs12",
		"security.ssl.keystore":                    "openssl pkcs12",
		"security.ssl.rest.key-password":           "openssl pkcs12",
		"security.ssl.rest.truststore":             "leave it out",
		"security.ssl.rest.enabled":                "leave it out",
		"security.ssl.rest.authentication-enabled": "leave it out",
		"security.ssl.internal.keystore":           "each application makes its own certificates",
		"security.ssl.internal.cert.fingerprint":   "each application makes its own certificates",
		"security.ssl.internal.key-password":       "each application makes its own certificates",
		"security.ssl.internal.enable":             "did you mean security.ssl.internal.enabled?",
		"security.ssl.rest.certificates":           "did you mean security.ssl.rest.certificate?",
	} {
		_, err := New(Layer{Source: "-D", Values: map[string]string{name: "x"}})
		fault, is := errors.AsType[*Fault](err)
		if !is || !strings.Contains(fault.Remedy, want) || fault.Text() != "-D: unknown option "+name {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
