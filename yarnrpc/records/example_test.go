package records_test

import (
	"encoding/json"
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Identifiers have Hadoop's text forms, are keys of maps, and strings in JSON.
func ExampleParseContainerID() {
	id, err := records.ParseContainerID("container_e03_1700000000000_0007_02_000042")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(id.Attempt.Application)
	fmt.Println(id.Attempt.Attempt, id.Sequence(), id.Epoch())
	text, err := json.Marshal(map[records.ContainerID]string{id: "mine"})
	fmt.Println(string(text), err)
	// Output:
	// application_1700000000000_0007
	// 2 42 3
	// {"container_e03_1700000000000_0007_02_000042":"mine"} <nil>
}

// Text that bash reads on the node goes through Verbatim. Placeholders for the
// NodeManager do not.
func ExampleVerbatim() {
	launch := records.ContainerLaunchContext{
		Environment: map[string]string{"SETTINGS": records.Verbatim(`{"name": "$x"}`)},
		Commands:    []string{records.Verbatim(`echo "$SETTINGS from $HOSTNAME"`), "1><LOG_DIR>/stdout"},
	}
	fmt.Println(launch.Environment["SETTINGS"])
	fmt.Println(launch.Commands)
	// Output:
	// {""\"name\": \"\$x\"}""
	// [echo \"\$SETTINGS from \$HOSTNAME\" 1><LOG_DIR>/stdout]
}

// Constraints are built in code, or read from the text form of DistributedShell.
func ExampleParsePlacementConstraint() {
	built := records.And(
		records.Apart(records.ScopeNode, records.OwnTags("server")...),
		records.Near(records.ScopeRack, records.OwnTags("store")...),
	)
	fmt.Println(built)
	read, err := records.ParsePlacementConstraint("and(notin,node,server:in,rack,store)")
	fmt.Println(read, err)
	// Output:
	// and(notin,node,server:in,rack,store)
	// and(notin,node,server:in,rack,store) <nil>
}

func ExampleExitStatus_Countable() {
	for _, status := range []records.ExitStatus{1, records.ExitPreempted} {
		fmt.Printf("%s: %s; counts as a failure: %t\n", status, status.Reason(), status.Countable())
	}
	// Output:
	// 1: the process exited with code 1; counts as a failure: true
	// PREEMPTED: preempted by the scheduler; counts as a failure: false
}

// The ask for a container with two GPUs.
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
