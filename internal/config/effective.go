package config

// Effective gives the options under which a process runs, as text: those that a layer gave,
// and the defaults of all others that have one.
func (c Config) Effective() map[string]string {
	values := c.Set()
	for _, d := range table {
		if _, given := values[d.Key.Name()]; !given && d.Default != "" {
			values[d.Key.Name()] = d.Default
		}
	}
	return values
}
