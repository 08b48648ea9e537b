package amrm

import (
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ErrNotMaster says that YARN has not started this process as an ApplicationMaster.
var ErrNotMaster = errors.New("YARN did not start this process as an ApplicationMaster")

// FromContainer is FromConf for a process that YARN has started as an
// ApplicationMaster. It takes the attempt and the token of the container from the
// environment variables CONTAINER_ID and HADOOP_TOKEN_FILE_LOCATION
// (ApplicationConstants.Environment). getenv is usually os.Getenv. The error is
// ErrNotMaster if a variable is not set, or if the token file has no AMRM token, as
// in other containers.
func FromContainer(conf *hadoopconf.Conf, getenv func(string) string) (Options, error) {
	const idVariable, tokensVariable = "CONTAINER_ID", creds.FileVariable
	o, err := FromConf(conf)
	if err != nil {
		return Options{}, err
	}
	for _, name := range []string{idVariable, tokensVariable} {
		if getenv(name) == "" {
			return Options{}, fmt.Errorf("%w: %s is not set", ErrNotMaster, name)
		}
	}
	id, err := records.ParseContainerID(getenv(idVariable))
	if err != nil {
		return Options{}, fmt.Errorf("read %s: %w", idVariable, err)
	}
	credentials, err := creds.ReadFile(getenv(tokensVariable))
	if err != nil {
		return Options{}, err
	}
	if o.Attempt, o.Token = id.Attempt, credentials.ByKind(creds.KindAMRM); o.Token == nil {
		return Options{}, fmt.Errorf("%w: %s has no AMRM token", ErrNotMaster, getenv(tokensVariable))
	}
	return o, nil
}
