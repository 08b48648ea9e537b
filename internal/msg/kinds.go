package msg

import (
	"errors"
	"fmt"
	"reflect"
)

// ErrKind says that a peer sent a message of a kind that it may not send or that is
// unknown. The message was not decoded.
var ErrKind = errors.New("peer may not send messages of this kind")

// Kinds is the set of message kinds that may come over a connection, by their names
// on the wire. The names are part of the protocol version.
type Kinds struct{ types map[string]reflect.Type }

// KindsOf returns the kinds of these messages.
func KindsOf(messages ...Message) Kinds {
	k := Kinds{make(map[string]reflect.Type, len(messages))}
	for _, m := range messages {
		k.types[Kind(m)] = reflect.TypeOf(m)
	}
	return k
}

// Kinds of messages that one end of a connection may send to the other.
var (
	TaskExecutorToResourceManager = KindsOf(RegisterTaskExecutor{}, Heartbeat{}, SlotReport{}, SlotRequestsAnswered{}, SlotsFreed{}, Inquired{}, Disconnect{})
	ResourceManagerToTaskExecutor = KindsOf(TaskExecutorRegistered{}, RegistrationRejected{}, Heartbeat{}, RequestSlots{}, ReleaseTaskExecutor{}, UpdateTokens{}, Inquire{}, Disconnect{})

	TaskExecutorToJobMaster = KindsOf(RegisterAtJobMaster{}, Heartbeat{}, OfferSlots{}, HostReady{}, HostLost{},
		TaskStatesChanged{}, TasksProgress{}, HeldPartitions{}, RequestSplit{}, CollectBatch{}, CommitPrepared{}, Disconnect{})
	JobMasterToTaskExecutor = KindsOf(RegisteredAtJobMaster{}, Heartbeat{}, SlotOffersAnswered{}, FreeSlots{},
		DeployTasks{}, CancelTasks{}, SplitAssigned{}, CollectAcknowledged{}, CommitGranted{}, ReleasePartitions{}, Disconnect{})

	HostToTaskExecutor = KindsOf(HostHello{}, HostReady{}, HostLost{}, Heartbeat{},
		TaskStatesChanged{}, TasksProgress{}, RequestSplit{}, CollectBatch{}, CommitPrepared{}, Inquired{})
	TaskExecutorToHost = KindsOf(StartHost{}, SetMemory{}, StopHost{}, ResetHost{}, UpdateTokens{}, Heartbeat{}, Inquire{},
		DeployTasks{}, CancelTasks{}, SplitAssigned{}, CollectAcknowledged{}, CommitGranted{})

	// A driver's starter is the client, or the ApplicationMaster.
	DriverToStarter = KindsOf(DriverHello{}, ListingInput{}, DriverFailed{}, ExecuteJob{})
	StarterToDriver = KindsOf(DriverStart{}, PrepareJob{}, JobAccepted{}, CollectedRecords{}, JobEnded{}, UpdateTokens{})
)

// Kind returns the name of a message's type on the wire.
func Kind(m Message) string { return reflect.TypeOf(m).Name() }

// Allow reports whether a message is of one of the kinds.
func (k Kinds) Allow(m Message) bool {
	_, allowed := k.types[Kind(m)]
	return allowed
}

// Decode makes the message of this kind from its encoded form. It calls unmarshal
// with a pointer to the message. The error is ErrKind if kind is not in the set.
func (k Kinds) Decode(kind string, unmarshal func(into any) error) (Message, error) {
	t, allowed := k.types[kind]
	if !allowed {
		return nil, fmt.Errorf("decode message of kind %.40q: %w", kind, ErrKind)
	}
	into := reflect.New(t)
	if err := unmarshal(into.Interface()); err != nil {
		return nil, fmt.Errorf("decode message %s: %w", kind, err)
	}
	return into.Elem().Interface().(Message), nil
}
