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
	if strings.HasPrefix(inner, "internal.") {
		return "" // Bobbin makes these certificates itself
	}
	kind := strings.TrimPrefix(inner, "rest.")
	switch {
	case strings.HasPrefix(kind, "keystore"), kind == "key-password":
		return fmt.Sprintf("convert Java's keystore with openssl pkcs12 -in KEYSTORE -nodes -out rest.pem, and set both %s and %s to rest.pem", RESTCertificate, RESTCertificateKey)
	case strings.HasPrefix(kind, "truststore"), slices.Contains([]string{"rest.enabled", "rest.authentication-enabled", "rest.cert.fingerprint"}, inner):
		return "leave it out: REST always uses TLS, and its clients prove who they are"
	}
	return ""
}
