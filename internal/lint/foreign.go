package lint

import (
	"go/types"
	"slices"
)

// purePackages are the packages of other modules that a core may use. They do no I/O, take no lock,
// start no goroutine and read no clock.
var purePackages = map[string]use{
	"bytes": {}, "cmp": {}, "compress/flate": {only: []string{"BestSpeed", "NewWriter"}}, "container/heap": {}, "container/list": {}, "crypto/hmac": {}, "crypto/sha1": {}, "crypto/sha256": {}, "encoding/binary": {}, "encoding/hex": {},
	"encoding/json": {}, "errors": {}, "hash/fnv": {}, "iter": {}, "maps": {}, "math": {}, "math/big": {}, "math/bits": {}, "net/netip": {},
	"path": {}, "slices": {}, "sort": {}, "strconv": {}, "strings": {}, "unicode": {}, "unicode/utf8": {},
	// Encoding of messages. protoimpl and impl are what generated methods call.
	"google.golang.org/protobuf/proto": {}, "google.golang.org/protobuf/encoding/protowire": {}, "google.golang.org/protobuf/reflect/protoreflect": {},
	"google.golang.org/protobuf/runtime/protoimpl": {}, "google.golang.org/protobuf/internal/impl": {},
	// Only methods, such as those of a hash: a core has no value that does I/O.
	"hash": {only: []string{}}, "io": {only: []string{}},
	"fmt":          {not: []string{"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"}},
	"math/rand":    {only: []string{"New", "NewSource", "NewZipf"}}, // the others draw from a shared source
	"math/rand/v2": {only: []string{"New", "NewChaCha8", "NewPCG", "NewZipf"}},
	"net":          {only: []string{"JoinHostPort", "SplitHostPort"}},
	"time": {not: []string{
		"After", "AfterFunc", "LoadLocation", "Local", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until",
	}},
}

// use names the functions and variables of a package that a core may use: those in only, or all if
// only is nil, but none in not. A core may call every method of its values.
type use struct{ only, not []string }

// foreign returns the fault of using a function or variable of another module, and its remedy, or
// "".
func foreign(object types.Object) (what, remedy string) {
	what = "uses " + object.Pkg().Name() + "." + object.Name()
	allowed, is := purePackages[object.Pkg().Path()]
	if !is {
		return what, "emit an effect, or add the package to purePackages if it is pure"
	}
	if function, is := object.(*types.Func); is && function.Signature().Recv() != nil && title(object) != "time.Time.Local" {
		return "", ""
	}
	if !slices.Contains(allowed.not, object.Name()) && (allowed.only == nil || slices.Contains(allowed.only, object.Name())) {
		return "", ""
	}
	switch object.Pkg().Name() {
	case "time":
		return what, "take the time from the argument, and wait by an effect"
	case "rand":
		return what, "draw from a source of its own, with a seed from outside"
	default:
		return what, shellRemedy
	}
}
