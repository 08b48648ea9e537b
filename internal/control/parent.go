package control

// ParentVariable is the environment variable that tells a program which runs on its own where
// it says what it is amid: a descriptor. os.Exit in a task ends the whole of a local run without
// a word; the parent knows it by the word that is missing. The process takes the variable out of
// its environment, as it does with Variable.
const ParentVariable = "BOBBIN_PARENT"

// OptionsVariable is the environment variable that carries the options of the command line to a
// program that runs on its own (bobbin run -t local), as a JSON object. The program takes it out
// of its environment before it starts anything else.
const OptionsVariable = "BOBBIN_OPTIONS"

// Amid is what a program is amid, in the byte by which it says so when that changes. 0: it has
// said nothing.
type Amid byte

// What a program can be amid.
const (
	AmidDriver  Amid = 'd' // it runs, and no job of it does
	AmidJob     Amid = 'j' // one job at least runs in it
	AmidNothing Amid = 'n' // it ends by itself
)
