package terminal

// Looks are what a terminal can show, by the user's environment.
type Looks struct {
	Moves   bool // the cursor can be moved, and lines be written over
	Colours bool // the user wants colours: NO_COLOR (no-color.org) is not set
}

// LooksOf reads TERM and NO_COLOR.
func LooksOf(getenv func(string) string) Looks {
	term := getenv("TERM")
	moves := term != "" && term != "dumb"
	return Looks{Moves: moves, Colours: moves && getenv("NO_COLOR") == ""}
}
