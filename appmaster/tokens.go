package appmaster

import (
	"context"

	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// manageTokens makes the manager of the tokens that workers reach HDFS by. It obtains new
// ones where this process can log in, unless options forbid it.
func (s *services) manageTokens() (*tokenmanager.Manager, error) {
	env := s.env
	settings := tokenmanager.Configured(env.config)
	var err error
	if settings.RenewInterval, err = env.hadoop.TokenRenewInterval(); err != nil {
		return nil, err
	}
	var provider tokenmanager.Provider
	if env.login != nil && env.config.Bool(config.DelegationTokensEnabled) && env.config.Bool(config.HadoopFSProviderEnabled) {
		settings.Principal = env.login.Principal().String()
		provider = &tokenmanager.HadoopFS{
			Files: s.files, Roots: env.launch.Security.FileSystems, Renewer: settings.Principal,
		}
	}
	// Both are there by the time that the manager runs.
	distribute := func(ctx context.Context, tokens msg.Secret) error {
		if s.drivers != nil {
			s.drivers.UpdateTokens(tokens)
		}
		return s.component.ResourceManager.UpdateTokens(ctx, tokens)
	}
	return tokenmanager.New(settings, provider, env.credentials, distribute, s.logger)
}
