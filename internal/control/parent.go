package control

// ParentVariable is the environment variable for a program that runs on its own. Its value is the
// descriptor to which the program reports its state (Amid). If os.Exit in a task ends a whole local
// run silently, the parent knows it from the missing report. The process removes the variable from
// its environment, as with Variable.
const ParentVariable = "BOBBIN_PARENT"

// OptionsVariable is the environment variable that passes the options of the command line to a
// program that runs on its own (bobbin run -t local), as a JSON object. The program removes it from
// its environment before it starts another process.
const OptionsVariable = "BOBBIN_OPTIONS"

// Amid is the state that a program reports, as one byte, when the state changes. 0 means that it
// has reported nothing.
type Amid byte

// The states of a program.
const (
	AmidDriver  Amid = 'd' // the program runs, and none of its jobs does
	AmidJob     Amid = 'j' // at least one of its jobs runs
	AmidNothing Amid = 'n' // the program ends on purpose
)
