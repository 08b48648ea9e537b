package config

// Effective returns all options of a process as text: those that a layer gave, and the others that
// have a default.
func (c Config) Effective() map[string]string {
	values := c.Set()
	for _, d := range table {
		if _, given := values[d.Key.Name()]; given {
			continue
		}
		if text := d.defaultIn(c); text != "" {
			values[d.Key.Name()] = text
		}
	}
	return values
}
