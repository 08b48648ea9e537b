package config

import (
	"fmt"
	"slices"
	"strings"
)

// Keystore says what takes the place of one of Flink's options that name a keystore or a truststore of Java, or its
// passwords; "" for all other options.
func Keystore(name string) string {
	inner, is := strings.CutPrefix(name, "security.ssl.")
	if !is {
		return ""
	}
	kind, between := strings.CutPrefix(inner, "internal.")
	kind = strings.TrimPrefix(kind, "rest.")
	switch {
	case between && (isStore(kind) || kind == "cert.fingerprint"):
		return "leave it out: each application makes its own certificates for the connections between its processes"
	case between:
		return ""
	case isStore(kind) && !strings.HasPrefix(kind, "truststore"):
		return fmt.Sprintf("convert Java's keystore with openssl pkcs12 -in KEYSTORE -nodes -out rest.pem, and set both %s and %s to rest.pem", RESTCertificate, RESTCertificateKey)
	case strings.HasPrefix(kind, "truststore"), slices.Contains([]string{"rest.enabled", "rest.authentication-enabled", "rest.cert.fingerprint"}, inner):
		return "leave it out: REST always uses TLS, and its clients prove who they are"
	}
	return ""
}

// isStore reports whether an option names a keystore or a truststore, or its passwords.
func isStore(kind string) bool {
	return strings.HasPrefix(kind, "keystore") || strings.HasPrefix(kind, "truststore") || kind == "key-password"
}
