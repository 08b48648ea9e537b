package client

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ApplicationType is what YARN shows as the type of our applications.
const ApplicationType = "Bobbin"

// masterLog is the name of the ApplicationMaster's own log, and masterStderr that of its standard error beside it.
const (
	masterLog    = "jobmanager"
	masterStderr = masterLog + ".stderr"
)

// masterContext is the launch context of the ApplicationMaster's container, without what
// proves who it is.
func masterContext(c config.Config, user string, what launch.AppMaster) (records.ContainerLaunchContext, error) {
	encoded, err := launch.Encode(what)
	if err != nil {
		return records.ContainerLaunchContext{}, err
	}
	binary, err := what.Bobbin.Localize()
	if err != nil {
		return records.ContainerLaunchContext{}, err
	}
	resources := map[string]records.LocalResource{launch.BobbinLink: binary}
	if what.Mode == launch.Application { // whose driver runs there
		if resources[launch.ProgramLink], err = what.Program.Localize(); err != nil {
			return records.ContainerLaunchContext{}, err
		}
	}
	needs := masterResource(c)
	environment := map[string]string{
		"HADOOP_USER_NAME": user,
		"GOMAXPROCS":       fmt.Sprint(max(2, needs.VCores)),
		"GOMEMLIMIT":       fmt.Sprintf("%dMiB", needs.MemoryMB*launch.MasterHeapShare/100),
	}
	maps.Copy(environment, c.Under(config.ContainerMasterEnv))
	environment[launch.Variable] = encoded
	return records.ContainerLaunchContext{
		LocalResources: resources,
		Environment:    environment,
		Commands:       []string{launch.Command("appmaster", what.BobbinSHA256, masterLog)},
		ACLs:           launch.ACLs(c),
	}, nil
}

// submissionContext is the application as YARN gets it.
func submissionContext(c config.Config, known facts, name string, master records.ContainerLaunchContext) records.SubmissionContext {
	s := records.SubmissionContext{
		ID:          known.id,
		Name:        c.String(config.YarnApplicationName),
		Queue:       queueName(c),
		Container:   master,
		Resource:    masterResource(c),
		KeepTokens:  known.grant.shared,
		MaxAttempts: c.Int(config.YarnApplicationAttempts),
		Type:        c.String(config.YarnApplicationType),
		NodeLabel:   c.String(config.YarnNodeLabel),
		Lifetime:    c.Duration(config.YarnApplicationLifetime),
		Logs: records.LogAggregation{
			RolledInclude: c.String(config.YarnRolledLogsInclude),
			RolledExclude: c.String(config.YarnRolledLogsExclude),
		},
		FailuresValidity: max(0, time.Duration(c.Int(config.YarnAttemptFailuresValidity))*time.Millisecond),
	}
	if s.Name == "" {
		s.Name = name
	}
	if s.Type == "" {
		s.Type = ApplicationType
	}
	for tag := range strings.SplitSeq(c.String(config.YarnTags), ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			s.Tags = append(s.Tags, strings.ToLower(tag))
		}
	}
	if priority := c.Int(config.YarnApplicationPriority); priority >= 0 {
		p := records.Priority(priority)
		s.Priority = &p
	}
	return s
}

// queueName is the queue that the application goes to; YARN's own default where
// none is named.
func queueName(c config.Config) string {
	if name := c.String(config.YarnApplicationQueue); name != "" {
		return name
	}
	return "default"
}
