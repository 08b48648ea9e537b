package client

import (
	"maps"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// masterLog is the name of the ApplicationMaster's own log, and masterStderr that of its standard error beside it.
const (
	masterLog    = launch.MasterLog
	masterStderr = masterLog + ".stderr"
)

// launchContext makes the launch context of the ApplicationMaster's container.
func (p *plan) launchContext(on staged, known facts) (records.ContainerLaunchContext, error) {
	what := p.master
	what.StagingDir, what.Security, what.Bobbin, what.Uber = on.dir, known.grant.security, on.bobbin, known.uber.together()
	what.HighAvailability, what.Began, what.Site = on.stored, known.began, p.site != nil
	if p.mode != launch.Session {
		what.Program, what.ProgramRef = on.program, p.program.reference(on.program)
	}
	encoded, err := launch.Encode(what)
	if err != nil {
		return records.ContainerLaunchContext{}, err
	}
	resources, err := p.resources(on, known)
	if err != nil {
		return records.ContainerLaunchContext{}, err
	}
	environment := maps.Clone(p.environment)
	environment[launch.Variable] = encoded
	return records.ContainerLaunchContext{
		LocalResources: resources,
		Environment:    environment,
		Commands:       []string{launch.Command("appmaster", what.BobbinSHA256, masterLog)},
		ACLs:           p.acls,
		Tokens:         known.grant.credentials.Marshal(),
	}, nil
}

// resources lists the files that the ApplicationMaster's container localizes, by link.
func (p *plan) resources(on staged, known facts) (map[string]records.LocalResource, error) {
	binary, err := on.bobbin.Localize()
	if err != nil {
		return nil, err
	}
	resources := map[string]records.LocalResource{launch.BobbinLink: binary}
	if p.mode == launch.Application || known.uber.together() { // the program runs in this container
		if resources[launch.ProgramLink], err = on.program.Localize(); err != nil {
			return nil, err
		}
	}
	if err := launch.Localize(resources, on.shipped); err != nil {
		return nil, err
	}
	if g := known.grant; g.keytab != nil {
		if resources[g.security.Keytab], err = on.keytab.LocalizeAlone(); err != nil {
			return nil, err
		}
	}
	if p.site != nil {
		resources[launch.SiteFile], err = on.site.LocalizeAlone()
	}
	return resources, err
}

// submissionContext makes the submission that YARN gets.
func (p *plan) submissionContext(known facts, master records.ContainerLaunchContext) records.SubmissionContext {
	s := p.submission
	s.ID, s.Container, s.KeepTokens, s.KeepContainers = known.id, master, known.grant.shared, p.available
	s.Resource = p.asked(known.uber).Master // which may have room for a worker
	return s
}
