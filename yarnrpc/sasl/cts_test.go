package sasl

import (
	"bytes"
	"crypto/aes"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
)

// The examples of RFC 3962, appendix B.
func TestCiphertextIsStolenAsTheRFCDoes(t *testing.T) {
	const text = "I would like the General Gau's Chicken, please, and wonton soup."
	c, err := newCTS([]byte("chicken teriyaki"))
	if err != nil {
		t.Fatal(err)
	}
	for length, want := range map[int]string{
		17: "c6353568f2bf8cb4d8a580362da7ff7f97",
		31: "fc00783e0efdb2c1d445d4c8eff7ed2297687268d6ecccc0c07b25e25ecfe5",
		32: "39312523a78662d5be7fcbcc98ebf5a897687268d6ecccc0c07b25e25ecfe584",
		47: "97687268d6ecccc0c07b25e25ecfe584b3fffd940c16a18c1b5549d2f838029e39312523a78662d5be7fcbcc98ebf5",
		48: "97687268d6ecccc0c07b25e25ecfe5849dad8bbb96c4cdc03bc103e1a194bbd839312523a78662d5be7fcbcc98ebf5a8",
		64: "97687268d6ecccc0c07b25e25ecfe58439312523a78662d5be7fcbcc98ebf5a84807efe836ee89a526730dbc2f7bc8409dad8bbb96c4cdc03bc103e1a194bbd8",
	} {
		b := []byte(text[:length])
		c.encrypt(b)
		if got := hex.EncodeToString(b); got != want {
			t.Errorf("%d bytes:\ngot  %s\nwant %s", length, got, want)
		}
		if c.decrypt(b); string(b) != text[:length] {
			t.Errorf("%d bytes became %q", length, b)
		}
	}
}

// The results of gokrb5, for every length around a few blocks.
func TestCiphertextIsThatOfAnotherLibrary(t *testing.T) {
	kind, err := crypto.GetEtype(etypeID.AES256_CTS_HMAC_SHA1_96)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{1})
	key := make([]byte, 32)
	random.Read(key) // never fails
	c, err := newCTS(key)
	if err != nil {
		t.Fatal(err)
	}
	for length := aes.BlockSize; length < 6*aes.BlockSize; length++ {
		plain := make([]byte, length)
		random.Read(plain) // never fails
		_, want, err := kind.EncryptData(key, bytes.Clone(plain))
		if err != nil {
			t.Fatal(err)
		}
		b := bytes.Clone(plain)
		if c.encrypt(b); !bytes.Equal(b, want) {
			t.Errorf("%d bytes:\ngot  %x\nwant %x", length, b, want)
		}
		if c.decrypt(b); !bytes.Equal(b, plain) {
			t.Errorf("%d bytes:\ngot  %x\nwant %x", length, b, plain)
		}
	}
}
