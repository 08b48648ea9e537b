package inquiry

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestQuestionsDoNotPileUpBehindADisk would catch a process whose memory grows while its disk does not answer, because those who
// ask give up and ask again; one that answers nothing any more afterwards; and one that does not even show its stacks meanwhile.
func TestQuestionsDoNotPileUpBehindADisk(t *testing.T) {
	t.Parallel()
	d := New("w", t.TempDir(), t.TempDir())
	ask := func(topic msg.Topic) error {
		answer, _ := d.Answer(t.Context(), msg.Inquiry{Topic: topic})
		return answer.Err()
	}
	for range maxAnswers {
		d.disk <- struct{}{} // an answer that waits
	}
	for _, topic := range []msg.Topic{msg.AboutLogs, msg.AboutLog, msg.AboutProfile} {
		if err := ask(topic); !errors.Is(err, msg.ErrTooManyInquiries) {
			t.Errorf("%s, with %d answers that wait: %v", topic, maxAnswers, err)
		}
	}
	for _, topic := range []msg.Topic{msg.AboutGoroutines, msg.AboutProfiles} {
		if err := ask(topic); err != nil {
			t.Errorf("%s needs no disk: %v", topic, err)
		}
	}
	for range maxAnswers {
		<-d.disk
	}
	for range 2 * maxAnswers {
		if err := ask(msg.AboutLogs); err != nil {
			t.Fatalf("when the disk answers again: %v", err)
		}
	}
}
