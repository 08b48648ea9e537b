package config

import (
	"slices"
	"strings"
)

// Hidden replaces a value that may be a secret, as in Flink's GlobalConfiguration.
const Hidden = "******"

// MayBeSecret reports whether an option's value is only for its owner: the option is a variable, or its
// name has a word that is usual in names of secrets.
func MayBeSecret(name string) bool {
	if strings.HasPrefix(name, string(ContainerMasterEnv)) || strings.HasPrefix(name, string(ContainerWorkerEnv)) {
		return true
	}
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{
		"password", "passwd", "secret", "token", "credential", "apikey", "api-key", "access-key", "service-key",
		"fs.azure.account.key", "auth-params", "basic-auth", "jaas.config", "http-headers",
	}, func(word string) bool { return strings.Contains(name, word) })
}

// Shown returns options as everybody may see them who may look at a process: values that may be secrets
// are Hidden.
func Shown(options map[string]string) map[string]string {
	values := make(map[string]string, len(options))
	for name, value := range options {
		if MayBeSecret(name) {
			value = Hidden
		}
		values[name] = value
	}
	return values
}
