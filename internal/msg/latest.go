package msg

// Latest is a name for messages of which only the newest counts, as it says all that an
// older one does: one that still waits for its peer is withdrawn, and the newest goes behind
// everything else. "" for the others. BlockNodes is one of those, as it must not fall behind
// the DeclareRequirements that follows it: the ResourceManager would grant slots on a node
// that the job has just set aside. There are few of them.
func Latest(m Message) string {
	switch m.(type) {
	case Heartbeat, SlotReport, UpdateTokens, SetMemory, TasksProgress,
		DeclareRequirements, NotEnoughResources, AllNodesBlocked:
		return Kind(m)
	default:
		return ""
	}
}
