package appmaster

import (
	"context"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// newTokenManager makes the manager of the tokens for HDFS. distribute passes new tokens to workers and
// programs. If this process can log in, the manager obtains new tokens, unless options forbid it.
func newTokenManager(env environment, files *dfs.FS, distribute func(context.Context, msg.Secret) error, logger logrus.FieldLogger) (*tokenmanager.Manager, error) {
	settings := tokenmanager.Configured(env.config)
	var err error
	if settings.RenewInterval, err = env.hadoop.TokenRenewInterval(); err != nil {
		return nil, err
	}
	var provider tokenmanager.Provider
	if env.login != nil && env.config.Bool(config.DelegationTokensEnabled) && env.config.Bool(config.HadoopFSProviderEnabled) {
		settings.Principal = env.login.Principal().String()
		provider = &tokenmanager.HadoopFS{
			Files: files, Roots: env.launch.Security.FileSystems, Renewer: settings.Principal,
		}
	}
	return tokenmanager.New(settings, provider, env.credentials, distribute, logger)
}
