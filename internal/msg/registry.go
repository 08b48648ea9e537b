package msg

import (
	"fmt"
	"reflect"
)

// kinds lists every message that may cross a process border, by the name that
// stands on the wire. Names are part of the protocol version.
var kinds = func() map[string]reflect.Type { //nolint:gochecknoglobals // a constant table
	table := make(map[string]reflect.Type)
	for _, m := range []Message{
		Heartbeat{},
		Disconnect{},
		RegisterTaskExecutor{},
		TaskExecutorRegistered{},
		RegistrationRejected{},
		SlotReport{},
		RequestSlot{},
		SlotRequestAnswered{},
		SlotFreed{},
		ReleaseTaskExecutor{},
		UpdateTokens{},
		RegisterAtJobMaster{},
		RegisteredAtJobMaster{},
		OfferSlots{},
		SlotOffersAnswered{},
		FreeSlots{},
		HostReady{},
		HostLost{},
		DeployTasks{},
		CancelTasks{},
		TaskStateChanged{},
		TaskProgress{},
		RequestSplit{},
		SplitAssigned{},
		CollectBatch{},
		CollectAcknowledged{},
		HostHello{},
		StartHost{},
		SetMemory{},
		StopHost{},
		DriverHello{},
		DriverStart{},
		ListingInput{},
		DriverFailed{},
		ExecuteJob{},
		JobAccepted{},
		CollectedRecords{},
		JobEnded{},
	} {
		t := reflect.TypeOf(m)
		table[t.Name()] = t
	}
	return table
}()

// Kind is the name of a message's type on the wire.
func Kind(m Message) string { return reflect.TypeOf(m).Name() }

// Decode makes the message of this kind from its encoded form: unmarshal is
// given a pointer to it.
func Decode(kind string, unmarshal func(into any) error) (Message, error) {
	t, known := kinds[kind]
	if !known {
		return nil, fmt.Errorf("decode message: unknown kind %q", kind)
	}
	into := reflect.New(t)
	if err := unmarshal(into.Interface()); err != nil {
		return nil, fmt.Errorf("decode message %s: %w", kind, err)
	}
	return into.Elem().Interface().(Message), nil
}
