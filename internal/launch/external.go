package launch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// The options of an external resource, after its name.
const (
	externalAmount = ".amount"
	externalYarn   = ".yarn.config-key"
	externalDriver = ".driver-factory.class" // only for a JVM
	externalParam  = ".param."               // of the driver
	externalOther  = ".kubernetes.config-key"
)

// noExternal is the value of external-resources for none.
const noExternal = "none"

// ExternalResources reads the external resources of a TaskExecutor's container with default slots, and
// YARN's names of their types. As in Flink, a resource without a type in YARN is not requested. An error
// wraps config.ErrInvalid.
func ExternalResources(c config.Config) (msg.ExternalResources, map[string]string, error) {
	invalid := func(option, text string, arguments ...any) (msg.ExternalResources, map[string]string, error) {
		return "", nil, fmt.Errorf("option %s: %w: %s", option, config.ErrInvalid, fmt.Sprintf(text, arguments...))
	}
	given := c.Under(config.ExternalResource)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !isExternal(name) {
			return invalid(string(config.ExternalResource)+name, "want one of <resource>%s, <resource>%s", externalAmount, externalYarn)
		}
	}
	amounts, types := make(map[string]int64), make(map[string]string)
	for name := range strings.SplitSeq(c.String(config.ExternalResources), ";") {
		name = strings.TrimSpace(name)
		inYARN := given[name+externalYarn]
		if name == "" || name == noExternal || inYARN == "" {
			continue
		}
		option := string(config.ExternalResource) + name + externalAmount
		amount, err := strconv.ParseInt(strings.TrimSpace(given[name+externalAmount]), 10, 64)
		switch {
		case strings.ContainsAny(name, "=,"):
			return invalid(config.ExternalResources.Name(), "the name %q contains = or a comma", name)
		case given[name+externalAmount] == "":
			return invalid(option, "it is not set, though %s names %s", config.ExternalResources, name)
		case err != nil || amount < 1:
			return invalid(option, "%q is not a whole number of at least 1", given[name+externalAmount])
		case inYARN == records.ResourceMemory || inYARN == records.ResourceVCores:
			return invalid(string(config.ExternalResource)+name+externalYarn, "%s has its own options", inYARN)
		case slices.Contains(slices.Collect(maps.Values(types)), inYARN) && types[name] == "":
			return invalid(string(config.ExternalResource)+name+externalYarn, "another external resource is also %s", inYARN)
		}
		amounts[name], types[name] = amount, inYARN
	}
	return msg.ExternalResourcesOf(amounts), types, nil
}

// isExternal reports whether an option of an external resource exists.
func isExternal(name string) bool {
	for _, end := range []string{externalAmount, externalYarn, externalDriver, externalOther} {
		if resource, is := strings.CutSuffix(name, end); is && resource != "" {
			return true
		}
	}
	return strings.Index(name, externalParam) > 0
}

// Capability returns the resources to request for a TaskExecutor's container with these external
// resources. largest, YARN's largest allocation, has the units of the further resources. Resources that
// are not YARN's are left out; see Unknown.
func (p WorkerPlace) Capability(memoryMB, vcores int, external msg.ExternalResources, largest records.Resource) records.Resource {
	r := records.Resource{MemoryMB: int64(memoryMB), VCores: vcores}
	if external == "" {
		return r
	}
	types := largest.Others.Map()
	//bobbin:anyorder each resource has its own amount
	for name, amount := range external.Amounts() {
		if inYARN := p.Types[name]; inYARN != "" {
			r = r.With(inYARN, records.ResourceAmount{Value: amount, Units: types[inYARN].Units})
		}
	}
	return r
}

// Unknown names an external resource that the options do not know, or gives "".
func (p WorkerPlace) Unknown(external msg.ExternalResources) string {
	amounts := external.Amounts()
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		if p.Types[name] == "" {
			return name
		}
	}
	return ""
}
