package crowd

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// still is a connection on which nothing moves unless it is read.
type still struct {
	net.Conn
	closed int
}

func (*still) Read([]byte) (int, error) { return 1, nil }

func (s *still) Close() error {
	s.closed++
	return nil
}

// layer is a connection over another, as TLS is.
type layer struct{ net.Conn }

func (l *layer) NetConn() net.Conn { return l.Conn }

// maxLesser is a limit of lesser connections.
const maxLesser = 48

// TestTheStillestMakesRoom would catch a crowd that grows, a connection in use that is cut before an idle
// one, a connection of the owner that is cut for others, and a place that is freed twice.
func TestTheStillestMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		crowd, all := New(4, 0), make(map[string]*still)
		ctx, cancel := context.WithCancelCause(t.Context())
		enter := func(name string) net.Conn {
			time.Sleep(time.Millisecond)
			all[name] = new(still)
			m, err := crowd.Enter(ctx, all[name])
			if err != nil {
				t.Errorf("%s does not get in: %v", name, err)
			}
			Admit(m, false)
			return m
		}
		cut := func(want ...string) {
			t.Helper()
			for name, conn := range all {
				closed := 0
				for _, w := range want {
					if w == name {
						closed = 1
					}
				}
				if conn.closed != closed {
					t.Errorf("%s is closed %d times, want %d", name, conn.closed, closed)
				}
			}
		}
		a, b, c := enter("a"), enter("b"), enter("c")
		cut()
		time.Sleep(time.Millisecond)
		if _, err := a.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		d := enter("d")
		cut("b")
		if b.Close(); all["b"].closed != 2 { // as the connection's server does
			t.Errorf("a connection that was cut is closed %d times", all["b"].closed)
		}
		delete(all, "b")

		Admit(&layer{Conn: c}, true)
		Admit(c, false)
		Admit(all["a"], true) // is in no crowd
		enter("e")
		cut("a")
		delete(all, "a")
		Admit(d, true)
		f := enter("f")
		cut("e")
		delete(all, "e")

		Admit(f, true)
		entered := make(chan error, 1)
		wait := func(conn net.Conn) {
			_, err := crowd.Enter(ctx, conn)
			entered <- err
		}
		go wait(new(still))
		synctest.Wait()
		if len(entered) > 0 {
			t.Error("one gets in though all others stay")
		}
		d.Close()
		if err := <-entered; err != nil {
			t.Errorf("one does not get in though another has left: %v", err)
		}
		cut("d")

		for m := range crowd.members {
			Admit(m, true)
		}
		ends := errors.New("the server ends")
		go wait(new(still))
		synctest.Wait()
		cancel(ends)
		if err := <-entered; !errors.Is(err, ends) {
			t.Errorf("waiting ends with %v, want the cause", err)
		}
	})
}

// TestThoseWithoutAllRightsAreFew would catch users who may only view, and who take all connections, each
// with the largest possible request; a user who is cut as soon as he connects; and a place that is lost
// with a user who was cut, or who has got all rights since.
func TestThoseWithoutAllRightsAreFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		crowd := New(0, maxLesser)
		enter := func(all bool) (*still, net.Conn) {
			time.Sleep(time.Millisecond)
			conn := new(still)
			m, err := crowd.Enter(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			Admit(m, all)
			return conn, m
		}
		owner, _ := enter(true)
		first, _ := enter(false)
		second, becomes := enter(false)
		third, thirds := enter(false)
		for range maxLesser - 3 {
			enter(false)
		}
		if first.closed > 0 || len(crowd.members) != 1+maxLesser {
			t.Fatalf("%d are in; the first is cut: %t", len(crowd.members), first.closed > 0)
		}
		if last, m := enter(false); first.closed == 0 || last.closed > 0 || len(crowd.members) != 1+maxLesser {
			t.Errorf("one more: %d are in, the first is cut: %t, the last: %t", len(crowd.members), first.closed > 0, last.closed > 0)
		} else {
			m.Close()
			m.Close() // once more, as its server may do
		}
		Admit(becomes, true)
		enter(false)
		enter(false)
		if second.closed+third.closed > 0 {
			t.Error("one is cut though there are two places")
		}
		enter(false)
		if third.closed == 0 || second.closed+owner.closed > 0 {
			t.Errorf("cut are the third: %t, who has all rights: %t, %t", third.closed > 0, second.closed > 0, owner.closed > 0)
		}
		Admit(thirds, false) // as its request is still being served
		thirds.Close()
		if crowd.lesser != maxLesser || len(crowd.members) != 2+maxLesser {
			t.Errorf("%d of %d have not all rights, want %d", crowd.lesser, len(crowd.members), maxLesser)
		}
	})
}

// TestNobodyIsCutWhileHeSaysWhoHeIs would catch an owner whom users without all rights keep out. Bytes
// always move on their connections, and while he waits for the process to verify him, his connection is the
// stillest.
func TestNobodyIsCutWhileHeSaysWhoHeIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		crowd := New(4, 0)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		enter := func() (*still, net.Conn) {
			time.Sleep(time.Millisecond)
			conn := new(still)
			m, err := crowd.Enter(ctx, conn)
			if err != nil {
				t.Error(err)
			}
			return conn, m
		}
		owner, his := enter()
		looks, one := enter()
		Admit(one, false)
		for range 10 {
			_, next := enter()
			Admit(next, false)
		}
		if owner.closed > 0 || looks.closed == 0 {
			t.Fatalf("the owner is cut: %t, who came before others and may look: %t", owner.closed > 0, looks.closed > 0)
		}
		Admit(his, true)
		_, stranger := enter()
		_, last := enter()
		entered := make(chan struct{})
		go func() {
			enter()
			close(entered)
		}()
		synctest.Wait()
		select {
		case <-entered:
			t.Error("one gets in for whom a stranger was cut, or the owner")
		default:
		}
		Admit(last, false) // later connections find this state
		stranger.Close()
		<-entered
		if owner.closed > 0 {
			t.Error("the owner is cut")
		}
	})
}

// row is a listener whose connections wait in a channel.
type row struct {
	conns chan net.Conn
	shut  int
}

func (r *row) Accept() (net.Conn, error) { return <-r.conns, nil }

func (r *row) Close() error {
	r.shut++
	return nil
}

func (*row) Addr() net.Addr { return nil }

// TestAListenerEndsThoughItsCrowdIsFull would catch a server that never ends because a connection waits for a place, and one
// whose connections do not count.
func TestAListenerEndsThoughItsCrowdIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conns := &row{conns: make(chan net.Conn, 3)}
		l := New(3, 0).Listen(conns)
		waits := new(still)
		for _, conn := range []net.Conn{new(still), new(still), waits} {
			conns.conns <- conn
		}
		for range 2 {
			if _, err := l.Accept(); err != nil {
				t.Fatal(err)
			}
		}
		ended := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		synctest.Wait()
		if len(ended) > 0 {
			t.Error("one more gets in than there are places")
		}
		for range 2 {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) || waits.closed != 1 || conns.shut != 2 {
			t.Errorf("waiting ends with %v; the connection is closed %d times, the listener below %d times", err, waits.closed, conns.shut)
		}
	})
}
