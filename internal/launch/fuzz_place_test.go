package launch_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// FuzzPlaceOf parses the options for a container's further resources and its place. It would catch
// an invalid amount, a resource that is requested without a name, and a fault that names no option.
func FuzzPlaceOf(f *testing.F) {
	f.Add("gpu", "gpu.amount", "2", "yarn.io/gpu", "")
	f.Add("gpu;fpga", "gpu.amount", "-1", "yarn.io/gpu", "notin,node,taskmanager")
	f.Add("none", ".amount", "9223372036854775808", "memory-mb", "cardinality,node,a,1,2")
	f.Add(" ;gpu; ", "gpu.param.x", " 7 ", "\xff", "and(in,rack,a:notin,node,b)")
	f.Fuzz(func(t *testing.T, names, property, amount, inYARN, constraint string) {
		name, _, _ := strings.Cut(names, ";")
		options, err := config.New(config.Layer{Source: "here", Values: map[string]string{
			"external-resources": names, "external-resource." + name + ".amount": amount, "external-resource." + name + ".yarn.config-key": inYARN,
			"external-resource.x" + property: amount, "yarn.taskmanager.placement-constraint": constraint,
		}})
		if err != nil {
			t.Fatal(err)
		}
		place, err := launch.PlaceOf(options)
		if err != nil {
			if !errors.Is(err, config.ErrInvalid) || !strings.HasPrefix(err.Error(), "option external-resource") && !strings.HasPrefix(err.Error(), "option yarn.taskmanager.placement-constraint") {
				t.Errorf("error %v", err)
			}
			return
		}
		largest := records.Resource{}.With(inYARN, records.ResourceAmount{Value: 1, Units: "Ki"})
		asked := place.Capability(1, 2, place.External, largest)
		if asked.MemoryMB != 1 || asked.VCores != 2 {
			t.Errorf("asked for %s", asked)
		}
		for kind, got := range asked.Others.Map() {
			if got.Value < 1 || kind == records.ResourceMemory || kind == records.ResourceVCores || got.Units != largest.Others.Amount(kind).Units {
				t.Errorf("asked for %s of %q, of which YARN has %s", got, kind, largest.Others.Amount(kind))
			}
		}
	})
}
