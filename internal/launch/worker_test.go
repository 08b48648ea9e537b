package launch_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestPlaceOf would catch a label or a constraint that is not sent to YARN, and options that YARN
// refuses together each time the application requests containers.
func TestPlaceOf(t *testing.T) {
	apart := records.Apart(records.ScopeNode, records.OwnTags(launch.WorkerTag)...)
	apartOnGPU := apart
	apartOnGPU.Partition = "gpu"
	for _, c := range []struct {
		name    string
		options map[string]string
		want    launch.WorkerPlace
		invalid bool
	}{
		{"anywhere", nil, launch.WorkerPlace{}, false},
		{"on the application's nodes", map[string]string{"yarn.application.node-label": "gpu"}, launch.WorkerPlace{NodeLabel: "gpu"}, false},
		{
			"on nodes of their own",
			map[string]string{"yarn.application.node-label": "gpu", "yarn.taskmanager.node-label": "ssd"},
			launch.WorkerPlace{NodeLabel: "ssd"},
			false,
		},
		{
			"while there is room",
			map[string]string{"yarn.taskmanager.execution-type": "opportunistic"},
			launch.WorkerPlace{ExecutionType: records.ExecutionOpportunistic},
			false,
		},
		{
			"one on each node",
			map[string]string{"yarn.taskmanager.placement-constraint": "notin,node,taskmanager"},
			launch.WorkerPlace{Constraint: apart},
			false,
		},
		{
			"one on each node with a label",
			map[string]string{"yarn.taskmanager.placement-constraint": "notin,node,taskmanager", "yarn.taskmanager.node-label": "gpu"},
			launch.WorkerPlace{NodeLabel: "gpu", Constraint: apartOnGPU},
			false,
		},
		{
			"with what else YARN gives",
			map[string]string{
				"external-resources": "gpu;fpga;tpu", "external-resource.gpu.amount": "2", "external-resource.gpu.yarn.config-key": "yarn.io/gpu",
				"external-resource.gpu.driver-factory.class": "org.apache.flink.externalresource.gpu.GPUDriverFactory", "external-resource.gpu.param.discovery-script.args": "x",
				"external-resource.fpga.amount": "1", "external-resource.fpga.yarn.config-key": "yarn.io/fpga",
				"external-resource.tpu.amount":  "1",                                                   // is not YARN's
				"external-resource.disk.amount": "7", "external-resource.disk.yarn.config-key": "disk", // is not in the list
				"external-resource.gpu.param.other": "y",
			},
			launch.WorkerPlace{External: "fpga=1,gpu=2", Types: map[string]string{"gpu": "yarn.io/gpu", "fpga": "yarn.io/fpga"}},
			false,
		},
		{"nothing else", map[string]string{"external-resources": "none"}, launch.WorkerPlace{}, false},
		{
			"no amount of a resource",
			map[string]string{"external-resources": "gpu", "external-resource.gpu.yarn.config-key": "yarn.io/gpu"},
			launch.WorkerPlace{},
			true,
		},
		{
			"half a resource",
			map[string]string{"external-resources": "gpu", "external-resource.gpu.amount": "0.5", "external-resource.gpu.yarn.config-key": "yarn.io/gpu"},
			launch.WorkerPlace{},
			true,
		},
		{
			"one resource by two names",
			map[string]string{
				"external-resources": "a;b", "external-resource.a.amount": "1", "external-resource.b.amount": "1",
				"external-resource.a.yarn.config-key": "yarn.io/gpu", "external-resource.b.yarn.config-key": "yarn.io/gpu",
			},
			launch.WorkerPlace{},
			true,
		},
		{
			"memory as another resource",
			map[string]string{"external-resources": "a", "external-resource.a.amount": "1", "external-resource.a.yarn.config-key": "memory-mb"},
			launch.WorkerPlace{},
			true,
		},
		{"a property of a resource that there is not", map[string]string{"external-resource.gpu.amuont": "1"}, launch.WorkerPlace{}, true},
		{"a constraint that is none", map[string]string{"yarn.taskmanager.placement-constraint": "far away"}, launch.WorkerPlace{}, true},
		{
			"a constraint while there is room",
			map[string]string{"yarn.taskmanager.placement-constraint": "notin,node,taskmanager", "yarn.taskmanager.execution-type": "OPPORTUNISTIC"},
			launch.WorkerPlace{},
			true,
		},
		{
			"an attribute and a label",
			map[string]string{"yarn.taskmanager.placement-constraint": "disk=ssd", "yarn.taskmanager.node-label": "gpu"},
			launch.WorkerPlace{},
			true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			options, err := config.New(config.Layer{Source: "test", Values: c.options})
			if err != nil {
				t.Fatal(err)
			}
			got, err := launch.PlaceOf(options)
			if errors.Is(err, config.ErrInvalid) != c.invalid {
				t.Fatalf("error %v, want one: %t", err, c.invalid)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); !c.invalid && diff != "" {
				t.Errorf("place differs (-want +got):\n%s", diff)
			}
		})
	}
}
