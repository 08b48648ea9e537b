// Package longtest tells whether the tests run that take minutes.
package longtest

import "os"

// Variable is 1 if the tests that take minutes run too: `make test-long`.
const Variable = "BOBBIN_TEST_LONG"

// Is reports whether the tests run that take minutes.
func Is() bool { return os.Getenv(Variable) == "1" }
