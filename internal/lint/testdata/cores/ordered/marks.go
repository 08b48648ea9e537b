package ordered

func (c *core) marked() (names []string) {
	//bobbin:anyorder a test looks at the number alone
	for id := range c.workers {
		names = append(names, id)
	}
	for id := range c.workers { //bobbin:anyorder
		// want "without a reason"
		names = append(names, id)
	}
	//bobbin:anyorder this once went over a map
	// want "excuses nothing"
	for i := range 3 {
		names[i] = ""
	}
	return names
}

// No core comes here.
func unreached(m map[int]string) (text string) {
	//bobbin:anyorder nobody minds
	// want "excuses nothing"
	for _, s := range m {
		text += s
	}
	return text
}
