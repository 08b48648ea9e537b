package records_test

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// What a container with two GPUs is asked for with.
func ExampleResource_With() {
	size := records.Resource{MemoryMB: 4096, VCores: 2}.With("yarn.io/gpu", records.ResourceAmount{Value: 2})
	fmt.Println(size)
	fmt.Println(size.Others.Amount("yarn.io/gpu").Value)
	fmt.Println(size.Fits(records.Resource{MemoryMB: 8192, VCores: 8}))
	// Output:
	// <memory:4096, vCores:2, yarn.io/gpu: 2>
	// 2
	// false
}
