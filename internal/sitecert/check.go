package sitecert

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
)

const (
	certificateBlock = "CERTIFICATE"
	// minRSA is the shortest RSA key that browsers and OpenSSL accept, in bits.
	minRSA = 2048
)

// isKey reports whether a PEM block has a private key that is not encrypted: PKCS #8, or the older forms of OpenSSL.
func isKey(kind string) bool {
	return slices.Contains([]string{"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"}, kind)
}

// checkForm looks whether a file has the blocks that it should have: those of a type, or "" for a private key. Java's
// keystores are what Flink's users have.
func checkForm(path string, text []byte, want string) error {
	const convert = "it is a keystore: convert it to PEM: openssl pkcs12 -in %s -nodes -out rest.pem"
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		encrypted := block.Type == "ENCRYPTED PRIVATE KEY" || isKey(block.Type) && strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED")
		switch {
		case want == "" && encrypted:
			return unusable("%s: the key is encrypted, and nobody can type the password in the cluster: decrypt it: openssl pkey -in %s -out rest.key", path, path)
		case want == "" && isKey(block.Type), want != "" && block.Type == want:
			return nil
		}
	}
	switch {
	case bytes.HasPrefix(text, []byte{0xfe, 0xed, 0xfe, 0xed}), bytes.HasPrefix(text, []byte{0xce, 0xce, 0xce, 0xce}): // JKS and JCEKS
		return unusable("%s: it is a keystore of Java: first keytool -importkeystore -srckeystore %s -destkeystore rest.p12 -deststoretype PKCS12, then openssl pkcs12 -in rest.p12 -nodes -out rest.pem", path, path)
	case bytes.HasPrefix(text, []byte{0x30}) && want == "", bytes.HasPrefix(text, []byte{0x30}) && !isCertificate(text): // DER
		return unusable("%s: "+convert, path, path)
	case bytes.HasPrefix(text, []byte{0x30}):
		return unusable("%s: it is DER: convert it to PEM: openssl x509 -inform der -in %s -out rest.pem", path, path)
	case want == "":
		return unusable("%s: the file has no private key in PEM", path)
	}
	return unusable("%s: the file has no certificate in PEM", path)
}

func isCertificate(der []byte) bool {
	_, err := x509.ParseCertificate(der)
	return err == nil
}

// checkChain checks what does not depend on the time: that browsers can use the first certificate for a server, and that
// each certificate is followed by that of its issuer.
func checkChain(chain []*x509.Certificate) error {
	leaf := chain[0]
	if len(leaf.DNSNames) == 0 && len(leaf.IPAddresses) == 0 {
		return unusable("it names no host (subjectAltName), and clients do not read the common name: get one with names such as *.cluster.example")
	}
	uses := leaf.ExtKeyUsage
	if len(uses)+len(leaf.UnknownExtKeyUsage) > 0 && !slices.Contains(uses, x509.ExtKeyUsageServerAuth) && !slices.Contains(uses, x509.ExtKeyUsageAny) {
		return unusable("it is not for servers (extended key usage): get one for serverAuth")
	}
	switch key := leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		if key.Size()*8 < minRSA {
			return unusable("its RSA key has %d bits, and browsers want %d: get one with a longer key", key.Size()*8, minRSA)
		}
	case ed25519.PublicKey:
		return unusable("its key is Ed25519, which browsers do not accept: get one with a key of ECDSA (P-256) or RSA")
	}
	for i, issued := range chain[:len(chain)-1] {
		if err := issued.CheckSignatureFrom(chain[i+1]); err != nil {
			return unusable("certificate %d of the file is not issued by number %d: put the server's certificate first, then that of its issuer, and so on: %w", i+1, i+2, err)
		}
	}
	return nil
}
