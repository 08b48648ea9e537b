// Package restapi has the types of the ApplicationMaster's REST interface: the JSON of requests and
// answers, and their headers. appmaster/rest serves them, package client requests them, and
// docs/openapi.yaml is generated from them.
//
// Most shapes are those of Flink 1.20's REST API. Their comments name its classes in
// org.apache.flink.runtime.rest.messages. Times and durations are in milliseconds, times since
// 1970. -1 stands for a time that has not come yet.
//
// The package has only pure functions and data. It starts no goroutines, opens no connections, and
// must never import a role.
package restapi

import (
	"math"
	"time"
)

// HeaderLeaving marks an answer of 503 from an ApplicationMaster that accepts no more requests. The
// client may ask the next ApplicationMaster. After any other 503 the client may repeat the request
// at the same one.
const HeaderLeaving = "Bobbin-Leaving"

// FailureBody is the answer to a refused request; Flink's ErrorResponseBody.
type FailureBody struct {
	Errors []string `json:"errors"`
}

// Empty is the answer to a successful request without data; Flink's EmptyResponseBody.
type Empty struct{}

// milliseconds converts a number of milliseconds, within the bounds of a Duration.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// point converts a time in milliseconds: to the zero Time for -1.
func point(ms int64) time.Time {
	if ms < 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
