// Package restapi has the types of the ApplicationMaster's REST interface: the
// JSON of requests and answers, and the headers beside it. appmaster/rest serves
// them, package client asks for them, and docs/openapi.yaml is generated from them.
//
// Most shapes are those of Flink 1.20's REST API; their comments name its
// classes in org.apache.flink.runtime.rest.messages. Times and durations are
// milliseconds, times since 1970; -1 stands for a time that has not come.
//
// Pure functions and data: the package starts no goroutines, opens no
// connections, and must never import a role.
package restapi

import (
	"math"
	"time"
)

// HeaderLeaving marks an answer of 503 whose ApplicationMaster takes nothing any more:
// there may be another one to ask. Any other 503 may be repeated to the same one.
const HeaderLeaving = "Bobbin-Leaving"

// FailureBody is the answer to a request that is refused; Flink's ErrorResponseBody.
type FailureBody struct {
	Errors []string `json:"errors"`
}

// Empty is the answer to a request that is done, and has nothing to tell; Flink's EmptyResponseBody.
type Empty struct{}

// milliseconds is a duration as JSON has it, within the bounds of a Duration.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// point is a time as JSON has it: the zero Time for -1.
func point(ms int64) time.Time {
	if ms < 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
