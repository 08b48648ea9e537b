package launch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
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

// externalResources reads the resources of a TaskExecutor's container besides memory and cores: the
// amounts, without units, by the names of their types in YARN. As in Flink, a resource without a
// type in YARN is not requested.
func externalResources(c config.Config) (records.ResourceValues, error) {
	invalid := func(option, text string, arguments ...any) (records.ResourceValues, error) {
		return records.ResourceValues{}, fmt.Errorf("option %s: %w: %s", option, config.ErrInvalid, fmt.Sprintf(text, arguments...))
	}
	given := c.Under(config.ExternalResource)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !isExternal(name) {
			return invalid(string(config.ExternalResource)+name, "want one of <resource>%s, <resource>%s", externalAmount, externalYarn)
		}
	}
	amounts := make(map[string]records.ResourceAmount)
	for name := range strings.SplitSeq(c.String(config.ExternalResources), ";") {
		name = strings.TrimSpace(name)
		inYARN := given[name+externalYarn]
		if name == "" || name == noExternal || inYARN == "" {
			continue
		}
		option := string(config.ExternalResource) + name + externalAmount
		amount, err := strconv.ParseInt(strings.TrimSpace(given[name+externalAmount]), 10, 64)
		switch {
		case given[name+externalAmount] == "":
			return invalid(option, "it is not set, though %s names %s", config.ExternalResources, name)
		case err != nil || amount < 1:
			return invalid(option, "%q is not a whole number of at least 1", given[name+externalAmount])
		case inYARN == records.ResourceMemory || inYARN == records.ResourceVCores:
			return invalid(string(config.ExternalResource)+name+externalYarn, "%s has its own options", inYARN)
		}
		if _, twice := amounts[inYARN]; twice {
			return invalid(string(config.ExternalResource)+name+externalYarn, "another external resource is also %s", inYARN)
		}
		amounts[inYARN] = records.ResourceAmount{Value: amount}
	}
	return records.NewResourceValues(amounts), nil
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

// Capability returns the resources to request for a TaskExecutor's container. largest, YARN's
// largest allocation, has the units of the further resources.
func (p WorkerPlace) Capability(memoryMB, vcores int, largest records.Resource) records.Resource {
	r := records.Resource{MemoryMB: int64(memoryMB), VCores: vcores}
	if p.External.IsZero() {
		return r
	}
	types := largest.Others.Map()
	//bobbin:anyorder each resource has its own amount
	for name, amount := range p.External.Map() {
		amount.Units = types[name].Units
		r = r.With(name, amount)
	}
	return r
}
