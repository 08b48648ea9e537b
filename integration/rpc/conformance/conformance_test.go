// Package conformance compares hadoopproto and yarnrpc with real Hadoop: with the descriptors inside its generated
// classes, and with the answers of a ResourceManager that offers every protection.
package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	_ "github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	_ "github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
)

// generatedClasses are Hadoop's generated classes, one for each .proto file from which we have something.
func generatedClasses() []string {
	return []string{
		"org.apache.hadoop.ha.proto.HAServiceProtocolProtos",
		"org.apache.hadoop.ipc.protobuf.IpcConnectionContextProtos",
		"org.apache.hadoop.ipc.protobuf.ProtobufRpcEngine2Protos",
		"org.apache.hadoop.ipc.protobuf.RpcHeaderProtos",
		"org.apache.hadoop.security.proto.SecurityProtos",
		"org.apache.hadoop.yarn.proto.ApplicationClientProtocol",
		"org.apache.hadoop.yarn.proto.ApplicationMasterProtocol",
		"org.apache.hadoop.yarn.proto.ContainerManagementProtocol",
		"org.apache.hadoop.yarn.proto.ResourceTracker",
		"org.apache.hadoop.yarn.proto.YarnProtos",
		"org.apache.hadoop.yarn.proto.YarnSecurityTokenProtos",
		"org.apache.hadoop.yarn.proto.YarnServerCommonProtos",
		"org.apache.hadoop.yarn.proto.YarnServerCommonServiceProtos",
		"org.apache.hadoop.yarn.proto.YarnServiceProtos",
		"org.apache.hadoop.hdfs.protocol.proto.AclProtos",
		"org.apache.hadoop.hdfs.protocol.proto.ClientNamenodeProtocolProtos",
		"org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos",
		"org.apache.hadoop.hdfs.protocol.proto.HdfsProtos",
	}
}

// wholeServices are the services of which we have every method. Of other services we have only the methods that we
// call.
func wholeServices() []string {
	return []string{"service hadoop.yarn.ApplicationClientProtocolService"}
}

// baseline is the first release that has everything of ours, except the names in since. Earlier releases may lack
// messages and fields.
const baseline = "3.4.0"

// since holds the fields that Hadoop got after its baseline.
func since() map[string]string {
	return map[string]string{
		"hadoop.common.RpcRequestHeaderProto authorizationHeader": "3.5.0",
		"hadoop.hdfs.DatanodeInfoProto softwareVersion":           "3.5.0",
	}
}

// facts describes messages, enumerations and services: for each, its kind and full name, and the lines that describe
// its parts.
type facts map[string][]string

// add adds an entry that may have no parts.
func (f facts) add(kind, name string) {
	key := kind + " " + name
	f[key] = append(f[key], nil...)
}

func (f facts) addTo(kind, name string, parts ...string) {
	key := kind + " " + name
	f[key] = append(f[key], strings.Join(parts, " "))
}

// TestOurMessagesAreHadoops would catch a wrong number, type or label, with which servers read wrong data without an
// error.
func TestOurMessagesAreHadoops(t *testing.T) {
	t.Parallel()
	ours := registered()
	if len(ours) < 150 {
		t.Fatalf("only %d messages, enumerations and services are registered", len(ours))
	}
	for _, version := range slices.Compact(slices.Sorted(slices.Values(append(artifacts.Releases(), hadoopVersion())))) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			compare(t, version, ours, hadoops(t, version))
		})
	}
}

// compare compares the facts of a release with ours.
func compare(t *testing.T, version string, ours, theirs facts) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(ours)) {
		want, there := theirs[key]
		if !there {
			if !older(version, baseline) {
				t.Errorf("%s: Hadoop %s has none", key, version)
			}
			continue
		}
		methods := strings.HasPrefix(key, "service ")
		for _, line := range ours[key] {
			name := strings.TrimPrefix(key, "message ") + " " + strings.Fields(line)[0]
			if !slices.Contains(want, line) && !older(version, cmp.Or(since()[name], baseline)) {
				t.Errorf("%s: ours has %q, Hadoop %s does not", key, line, version)
			}
		}
		for _, line := range want {
			if (!methods || slices.Contains(wholeServices(), key)) && !slices.Contains(ours[key], line) {
				t.Errorf("%s: Hadoop %s has %q, ours does not", key, version, line)
			}
		}
	}
}

func hadoopVersion() string {
	return cmp.Or(os.Getenv(cluster.VersionVariable), artifacts.DefaultVersion)
}

// older reports whether a release is from before another.
func older(version, than string) bool {
	number := func(v string) (n int) {
		for part := range strings.SplitSeq(v, ".") {
			digits, err := strconv.Atoi(part)
			if err != nil {
				return 0
			}
			n = n*1000 + digits
		}
		return n
	}
	return number(version) < number(than)
}

// hadoops returns the facts of Hadoop's classes.
func hadoops(t *testing.T, version string) facts {
	t.Helper()
	out := runJava(t, version, nil, nil, "Describe", generatedClasses()...)
	known := facts{}
	for line := range strings.Lines(string(out)) {
		parts := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		switch parts[0] {
		case "message", "enum":
			known.add(parts[0], parts[1])
		case "field":
			known.addTo("message", parts[1], parts[2:]...)
		case "value":
			known.addTo("enum", parts[1], parts[2:]...)
		case "method":
			known.addTo("service", parts[1], parts[2:]...)
		default:
			t.Fatalf("Describe.java said %q", line)
		}
	}
	return known
}

// registered returns the facts of this program's registry under our package names.
func registered() facts {
	known := facts{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(file.Path(), "bobbin/hadoop/") {
			return true
		}
		describeMessages(known, file.Messages())
		describeEnums(known, file.Enums())
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				known.addTo("service", hadoopName(service), string(m.Name()), hadoopName(m.Input()), hadoopName(m.Output()))
			}
		}
		return true
	})
	return known
}

func describeMessages(known facts, messages protoreflect.MessageDescriptors) {
	for i := range messages.Len() {
		m := messages.Get(i)
		known.add("message", hadoopName(m))
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			known.addTo("message", hadoopName(m), string(f.Name()), strconv.Itoa(int(f.Number())), label(f), fieldType(f), byDefault(f))
		}
		describeMessages(known, m.Messages())
		describeEnums(known, m.Enums())
	}
}

func describeEnums(known facts, enums protoreflect.EnumDescriptors) {
	for i := range enums.Len() {
		e := enums.Get(i)
		known.add("enum", hadoopName(e))
		for j := range e.Values().Len() {
			v := e.Values().Get(j)
			known.addTo("enum", hadoopName(e), string(v.Name()), strconv.Itoa(int(v.Number())))
		}
	}
}

// hadoopName returns the full name without our prefix.
func hadoopName(d protoreflect.Descriptor) string {
	return strings.TrimPrefix(string(d.FullName()), "bobbin.")
}

func label(f protoreflect.FieldDescriptor) string {
	if f.Cardinality() == protoreflect.Repeated && f.IsPacked() {
		return "repeated packed"
	}
	return f.Cardinality().String()
}

func fieldType(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return hadoopName(f.Message())
	case f.Enum() != nil:
		return hadoopName(f.Enum())
	default:
		return f.Kind().String()
	}
}

func byDefault(f protoreflect.FieldDescriptor) string {
	switch {
	case !f.HasDefault():
		return "-"
	case f.Enum() != nil:
		return "=" + string(f.DefaultEnumValue().Name())
	default:
		return fmt.Sprintf("=%v", f.Default().Interface())
	}
}
