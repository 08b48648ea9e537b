package msg

// Latest returns a name for messages of which only the newest counts, because it contains
// everything that an older one says. An outbox then removes a waiting older message and puts
// the newest one at the end. Latest returns "" for other messages. BlockNodes is one of
// these although it replaces older ones: it must not move behind the DeclareRequirements
// that follows it, or the ResourceManager would grant slots on a node that the job has just
// blocked. A job sends few of them.
func Latest(m Message) string {
	switch m := m.(type) {
	case Heartbeat, SlotReport, UpdateTokens, SetMemory, TasksProgress, AllNodesBlocked:
		return Kind(m)
	case DeclareRequirements:
		return Kind(m) + m.Profile.key()
	case NotEnoughResources:
		return Kind(m) + m.Profile.key()
	default:
		return ""
	}
}
