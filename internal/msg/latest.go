package msg

// Latest is a name for messages of which only the newest counts, as it says all that an
// older one does: one that still waits for its peer is withdrawn. "" for the others.
func Latest(m Message) string {
	switch m.(type) {
	case Heartbeat, SlotReport, UpdateTokens, SetMemory, TasksProgress,
		DeclareRequirements, NotEnoughResources, BlockNodes, AllNodesBlocked:
		return Kind(m)
	default:
		return ""
	}
}
