package appmaster

import (
	"context"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// tokensOf returns the tokens of a process. If the process can log in, it can obtain new ones, unless
// options forbid it.
func tokensOf(env environment, files *dfs.FS) (Tokens, error) {
	tokens := Tokens{Own: env.credentials}
	var err error
	if tokens.RenewInterval, err = env.hadoop.TokenRenewInterval(); err != nil {
		return tokens, err
	}
	if env.login != nil && env.config.Bool(config.DelegationTokensEnabled) && env.config.Bool(config.HadoopFSProviderEnabled) {
		tokens.Principal = env.login.Principal().String()
		tokens.Provider = &tokenmanager.HadoopFS{
			Files: files, Roots: env.launch.Security.FileSystems, Renewer: tokens.Principal,
		}
	}
	return tokens, nil
}

// newTokenManager makes the manager of the tokens for HDFS. distribute passes new tokens to workers and
// programs.
func newTokenManager(o Outside, distribute func(context.Context, msg.Secret) error, logger logrus.FieldLogger) (*tokenmanager.Manager, error) {
	settings := tokenmanager.Configured(o.Config)
	settings.Principal, settings.RenewInterval = o.Tokens.Principal, o.Tokens.RenewInterval
	own := o.Tokens.Own
	if own == nil {
		own = creds.New()
	}
	return tokenmanager.New(settings, o.Tokens.Provider, own, distribute, logger)
}
