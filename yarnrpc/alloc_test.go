//go:build !race

package yarnrpc_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// A call allocates only the parts of its answer, whatever the lengths of request and
// answer, and whatever protects them: buffers and bookkeeping are reused. (With the race
// detector, sync.Pool drops objects at random.)
func TestACallAllocatesItsAnswerAlone(t *testing.T) {
	for _, a := range agreements() {
		for _, length := range lengths() {
			t.Run(fmt.Sprintf("%v, %d bytes and %d back", a, length.request, length.answer), func(t *testing.T) {
				request, answer := longCall(length.request, length.answer)
				c := yarnrpc.NewProxy([]string{parrotAddress}, startParrot(t, a, answer), yarnrpc.Policy{})
				defer closeOrFail(t, c)
				encoded, err := proto.Marshal(answer)
				if err != nil {
					t.Fatal(err)
				}
				var response commonpb.CredentialsKVProto
				call := func() error { return c.Call(t.Context(), method, request, &response) }
				decode := func() error { return proto.Unmarshal(encoded, &response) }
				objects, bytes := allocated(t, call)
				wantObjects, wantBytes := allocated(t, decode)
				if objects > wantObjects+0.1 {
					t.Errorf("%v allocations, of which %v are the answer's", objects, wantObjects)
				}
				if bytes > wantBytes+2<<10 {
					t.Errorf("%v bytes, of which %v are the answer's", bytes, wantBytes)
				}
			})
		}
	}
}

// allocated returns the average allocations of an operation, after its buffers have
// grown. It turns off the garbage collector, which would empty all pools, also the
// runtime's.
func allocated(t *testing.T, operation func() error) (objects, bytes float64) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const times = 300
	var before, after runtime.MemStats
	for i := range 2 * times {
		if i == times {
			runtime.ReadMemStats(&before)
		}
		if err := operation(); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / times, float64(after.TotalAlloc-before.TotalAlloc) / times
}
