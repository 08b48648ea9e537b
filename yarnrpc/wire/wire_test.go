package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
)

const applicationClient = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"

func recorded(t testing.TB, name string) *bytes.Reader {
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b)
}

func readFrame(t *testing.T, r io.Reader) []byte {
	t.Helper()
	frame, err := ReadFrame(r, MaxFrame)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// The package understands the bytes of Hadoop's client, and would send the same bytes, except the
// caller context.
func TestWeSendWhatHadoopsClientSends(t *testing.T) {
	r := recorded(t, "client.bin")
	auth, err := ReadPreamble(r)
	if err != nil || auth != AuthNone {
		t.Fatalf("preamble: %v, %v", auth, err)
	}

	frame := readFrame(t, r)
	context, err := ParseRequest(frame)
	if err != nil {
		t.Fatal(err)
	}
	want := Context{ClientID: context.Context.ClientID, Protocol: applicationClient, User: "alice"}
	if diff := cmp.Diff(want, context.Context); diff != "" {
		t.Error(diff)
	}
	ours, err := AppendContext(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	sameMessages(t, frame, ours[4:], &commonpb.IpcConnectionContextProto{})

	frame = readFrame(t, r)
	call, err := ParseRequest(frame)
	if err != nil {
		t.Fatal(err)
	}
	if call.Call.Method != "getApplicationReport" || call.Call.Protocol != applicationClient || call.ID != 0 || call.Call.Retry != 0 {
		t.Errorf("call: %+v", call.Call)
	}
	var request yarnpb.GetApplicationReportRequestProto
	if err := call.Decode(&request); err != nil {
		t.Fatal(err)
	}
	if got := request.GetApplicationId().GetId(); got != 9999 {
		t.Errorf("application %d, want 9999", got)
	}
	ours, err = AppendCall(nil, call.Call, &request)
	if err != nil {
		t.Fatal(err)
	}
	sameMessages(t, frame, ours[4:], &commonpb.RequestHeaderProto{}, &yarnpb.GetApplicationReportRequestProto{})
	if r.Len() != 0 {
		t.Errorf("%d bytes left", r.Len())
	}
}

// sameMessages compares the messages of two frames after their headers, and the
// headers without the caller context.
func sameMessages(t *testing.T, theirs, ours []byte, rest ...proto.Message) {
	t.Helper()
	for i, m := range append([]proto.Message{&commonpb.RpcRequestHeaderProto{}}, rest...) {
		our := proto.Clone(m)
		var err error
		if theirs, err = takeDelimited(theirs, m); err != nil {
			t.Fatal(err)
		}
		if ours, err = takeDelimited(ours, our); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			m.(*commonpb.RpcRequestHeaderProto).CallerContext = nil
		}
		if diff := cmp.Diff(m, our, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWeUnderstandWhatHadoopsServerAnswers(t *testing.T) {
	r := recorded(t, "server.bin")
	response, err := ParseResponse(readFrame(t, r))
	if err != nil {
		t.Fatal(err)
	}
	f := response.Failure
	if f == nil {
		t.Fatal("an exception was taken for success")
	}
	if response.CallID != 0 || len(response.ClientID) != ClientIDLength || f.Fatal ||
		f.Class != "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException" ||
		!strings.HasPrefix(f.Message, "Application with id 'application_1795248863750_9999' doesn't exist in RM.") {
		t.Errorf("got %+v, %+v", response, f)
	}
}

func TestResponsesAreReadAsTheyWereWritten(t *testing.T) {
	answer := &yarnpb.KillApplicationResponseProto{IsKillCompleted: proto.Bool(true)}
	for name, tc := range map[string]struct {
		id      int32
		failure *Failure
	}{
		"success":         {7, nil},
		"error":           {7, &Failure{Class: "c", Message: "m", Detail: "ERROR_APPLICATION"}},
		"refused context": {CallContext, &Failure{Class: "c", Detail: "FATAL_UNAUTHORIZED", Fatal: true}},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := AppendResponse(nil, tc.id, []byte("client"), answer, tc.failure)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ParseResponse(readFrame(t, bytes.NewReader(b)))
			if err != nil {
				t.Fatal(err)
			}
			if got.CallID != tc.id || string(got.ClientID) != "client" {
				t.Errorf("got %+v", got)
			}
			if diff := cmp.Diff(tc.failure, got.Failure); diff != "" {
				t.Error(diff)
			}
			var decoded yarnpb.KillApplicationResponseProto
			if tc.failure == nil && (got.Decode(&decoded) != nil || !decoded.GetIsKillCompleted()) {
				t.Errorf("answer became %v", &decoded)
			}
		})
	}
}

// Frames of 0 bytes, and frames over the limit, end a connection with a hint at the peer's protocol.
func TestLengthsThatCannotBeAreExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		bytes string
		want  string
	}{
		"nothing":        {"\x00\x00\x00\x00", "not a Hadoop RPC server"},
		"over the limit": {"\x7f\xff\xff\xff", "the limit is too low"},
		"HTTP":           {"HTTP/1.1 400 Bad Request", "speaks HTTP"},
		"TLS alert":      {"\x15\x03\x01\x00\x02\x02\x46", "TLS alert"},
		"TLS":            {"\x16\x03\x01\x00\x02", "speaks TLS"},
		"SSH":            {"SSH-2.0-OpenSSH", "SSH server"},
		"SMTP":           {"220 mail", "answers in text"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadFrame(strings.NewReader(tc.bytes), 1<<20)
			var frame *FrameError
			if !errors.As(err, &frame) || frame.Limit != 1<<20 || string(frame.Head) != tc.bytes[:4] {
				t.Fatalf("got %#v", err)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q does not say %q", err, tc.want)
			}
		})
	}
}

func TestFramesThatEndEarlyAreTold(t *testing.T) {
	for name, tc := range map[string]struct {
		bytes string
		want  error
	}{
		"before a frame": {"", io.EOF},
		"in the length":  {"\x00\x00", io.ErrUnexpectedEOF},
		"in the body":    {"\x00\x00\x00\x05abc", io.ErrUnexpectedEOF},
		"after length":   {"\x00\x00\x00\x05", io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			if frame, err := ReadFrame(strings.NewReader(tc.bytes), MaxFrame); !errors.Is(err, tc.want) {
				t.Errorf("got %q, %v, want %v", frame, err, tc.want)
			}
		})
	}
}

// If a peer announces 100 MB and sends 3 bytes, the reader allocates a chunk, not 100 MB.
func TestMemoryFollowsTheBytesThatCome(t *testing.T) {
	frame := append(binary.BigEndian.AppendUint32(nil, 100<<20), "abc"...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := ReadFrame(bytes.NewReader(frame), MaxFrame); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 1<<20 {
		t.Errorf("%d bytes allocated for 3 bytes received", allocated)
	}
}

func TestLongFramesArriveWhole(t *testing.T) {
	for _, n := range []int{1, chunk - 1, chunk, chunk + 1, 5*chunk + 17} {
		body := bytes.Repeat([]byte{byte(n)}, n)
		framed := append(binary.BigEndian.AppendUint32(nil, uint32(n)), body...)
		got, err := ReadFrame(iotest.HalfReader(bytes.NewReader(framed)), MaxFrame)
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes became %d, %v", n, len(got), err)
		}
	}
}

func TestRequestsOverTheLimitAreNotMade(t *testing.T) {
	before := []byte("before")
	b, err := AppendCall(before, Call{ClientID: []byte{}}, &commonpb.CredentialsKVProto{
		Alias:  proto.String("a"),
		Secret: make([]byte, MaxFrame),
	})
	var frame *FrameError
	if !errors.As(err, &frame) || string(b) != "before" {
		t.Errorf("got %d bytes, %v", len(b), err)
	}
	if _, err := AppendCall(nil, Call{}, &commonpb.TokenProto{}); err == nil {
		t.Error("a request without its required fields was encoded")
	}
}

func TestMalformedRequestsAreErrors(t *testing.T) {
	call, err := AppendCall(nil, Call{ClientID: []byte{}}, &yarnpb.GetNewApplicationRequestProto{})
	if err != nil {
		t.Fatal(err)
	}
	ping := AppendPing(nil, []byte{})
	unknown, err := appendFrame(nil, requestHeader(-77, []byte{}, 0))
	if err != nil {
		t.Fatal(err)
	}
	for name, frame := range map[string][]byte{
		"empty":                 {},
		"length beyond the end": {0x7f},
		"header cut short":      call[4:8],
		"no method":             ping[4 : len(ping)-1],
		"bytes after a ping":    append(bytes.Clone(ping[4:]), 0),
		"unknown negative id":   unknown[4:],
	} {
		if r, err := ParseRequest(frame); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %+v, %v, want ErrMalformed", name, r, err)
		}
	}
	if _, err := ReadPreamble(strings.NewReader("GET / HTTP/1.1")); !errors.Is(err, ErrMalformed) {
		t.Errorf("preamble: got %v, want ErrMalformed", err)
	}
}

func FuzzParseRequest(f *testing.F) {
	r := recorded(f, "client.bin")
	if _, err := ReadPreamble(r); err != nil {
		f.Fatal(err)
	}
	for range 2 {
		frame, err := ReadFrame(r, MaxFrame)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		r, err := ParseRequest(frame)
		if err != nil || r.ID < 0 {
			return
		}
		var m yarnpb.GetApplicationReportRequestProto
		if r.Decode(&m) != nil {
			return
		}
		again, err := AppendCall(nil, r.Call, &m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseRequest(again[4:])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r.Call, got.Call); diff != "" {
			t.Error(diff)
		}
	})
}

// The headers of every call are written by hand. With a wrong byte, it would be another call.
func TestHeadersAreThoseOfTheGeneratedMessages(t *testing.T) {
	for _, id := range []int32{0, 1, 63, 64, 127, 128, 1 << 20, math.MaxInt32, CallPing} {
		for _, client := range []string{"", "sixteen bytes id", strings.Repeat("c", 200)} {
			for _, method := range []string{"", "getApplicationReport", strings.Repeat("m", 128)} {
				call := Call{ID: id, ClientID: []byte(client), Retry: id/2 - 1, Protocol: applicationClient, Method: method}
				want, err := appendFrame(nil, requestHeader(call.ID, call.ClientID, call.Retry), &commonpb.RequestHeaderProto{
					MethodName:                 proto.String(call.Method),
					DeclaringClassProtocolName: proto.String(call.Protocol),
					ClientProtocolVersion:      proto.Uint64(protocolVersion),
				})
				if err != nil {
					t.Fatal(err)
				}
				if got := appendCallHeader(nil, call); !bytes.Equal(got, want[lengthSize:]) {
					t.Errorf("%+v:\ngot  %x\nwant %x", call, got, want[lengthSize:])
				}
			}
		}
	}
}

// Under protection, every frame is in such a wrapper. A wrong length would end the connection.
func TestWrappersAreThoseOfTheGeneratedMessages(t *testing.T) {
	for _, length := range []int{0, 1, 122, 123, 124, 125, 127, 128, 1 << 14, 1 << 21} {
		token := bytes.Repeat([]byte{7}, length)
		message := &commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_WRAP.Enum(), Token: token}
		want, err := AppendSASL([]byte("before"), message)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := AppendWrapped([]byte("before"), token); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, written: %v, and not as the generated message", length, err)
		}
		answer, err := AppendResponse(nil, CallSASL, nil, message, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ParseResponse(answer[lengthSize:])
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := parseWrap(r.body); !ok {
			t.Errorf("%d bytes are not read by hand", length)
		}
		if got, err := r.Wrapped(); err != nil || !bytes.Equal(got, token) {
			t.Errorf("%d bytes, read: %d, %v", length, len(got), err)
		}
	}
	b, err := AppendWrapped([]byte("before"), make([]byte, MaxFrame))
	if _, is := errors.AsType[*FrameError](err); !is || string(b) != "before" {
		t.Errorf("over the limit: got %d bytes, %v", len(b), err)
	}
}

// Messages of a server that ends the protection, or never began it, must not be accepted.
func TestWhatIsNotWrappedIsMalformed(t *testing.T) {
	for name, m := range map[string]proto.Message{
		"success again":   &commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_SUCCESS.Enum(), Token: []byte("token")},
		"another message": &commonpb.CredentialsKVProto{Alias: proto.String("a"), Secret: []byte("s")},
	} {
		b, err := AppendResponse(nil, CallSASL, nil, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ParseResponse(b[lengthSize:])
		if err != nil {
			t.Fatal(err)
		}
		if token, err := r.Wrapped(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %q, %v, want ErrMalformed", name, token, err)
		}
	}
}

// A Response shares the bytes of its frame, which the next one overwrites.
func TestAKeptResponseSurvivesItsFrame(t *testing.T) {
	frame, err := AppendResponse(nil, 7, []byte("client"), &commonpb.CredentialsKVProto{Alias: proto.String("alias")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseResponse(frame[lengthSize:])
	if err != nil {
		t.Fatal(err)
	}
	buffer := r.Keep(make([]byte, 3, 100))
	clear(frame)
	var m commonpb.CredentialsKVProto
	if err := r.Decode(&m); err != nil || m.GetAlias() != "alias" || cap(buffer) != 100 {
		t.Errorf("got %v, %v, and a buffer of %d", &m, err, cap(buffer))
	}
}

func TestAnInboxDoesNotKeepTheRoomOfALongFrame(t *testing.T) {
	in := Inbox{Limit: MaxFrame}
	long := append(binary.BigEndian.AppendUint32(nil, 3<<20), make([]byte, 3<<20)...)
	in.Put(long)
	if frame, err := in.Next(); err != nil || len(frame) != 3<<20 {
		t.Fatalf("got %d bytes, %v", len(frame), err)
	}
	if room := len(in.Room()); room > inboxFirst {
		t.Errorf("%d bytes are held for nothing", room)
	}
	in.Put(long[:4+100]) // a length of megabytes, and few bytes
	if room := len(in.Room()); room > inboxGrown {
		t.Errorf("%d bytes are held for what a peer only announces", room)
	}
}

// An Inbox returns what ReadFrame reads, in whatever pieces the bytes come.
func FuzzInbox(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x03abc\x00\x00\x00\x01drest"), uint8(1))
	f.Add([]byte("HTTP/1.1 404"), uint8(3))
	f.Add(append([]byte{0, 0, 0x20, 0}, make([]byte, 0x2010)...), uint8(255))
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		const limit = 1 << 16
		in, r := Inbox{Limit: limit}, bytes.NewReader(b)
		for rest := b; ; {
			got, err := in.Next()
			if got == nil && err == nil && len(rest) > 0 {
				n := copy(in.Room(), rest[:min(len(rest), int(piece)+1)])
				in.Came(n)
				rest = rest[n:]
				continue
			}
			torn := in.Torn()
			want, wantErr := ReadFrame(r, limit)
			switch {
			case errors.Is(wantErr, io.EOF), errors.Is(wantErr, io.ErrUnexpectedEOF):
				if got != nil || err != nil || torn != errors.Is(wantErr, io.ErrUnexpectedEOF) {
					t.Errorf("got %x, %v, torn %v; want %v", got, err, torn, wantErr)
				}
				return
			case wantErr != nil:
				if err == nil || err.Error() != wantErr.Error() {
					t.Errorf("got %x, %v; want %v", got, err, wantErr)
				}
				return
			case !bytes.Equal(got, want):
				t.Fatalf("got %x, %v; want %x", got, err, want)
			}
		}
	})
}

func FuzzParseResponse(f *testing.F) {
	frame, err := ReadFrame(recorded(f, "server.bin"), MaxFrame)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(frame)
	success, err := AppendResponse(nil, 1, nil, &yarnpb.KillApplicationResponseProto{}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(success[4:])
	for _, state := range []commonpb.RpcSaslProto_SaslState{commonpb.RpcSaslProto_WRAP, commonpb.RpcSaslProto_CHALLENGE} {
		message := &commonpb.RpcSaslProto{Version: proto.Uint32(1), State: state.Enum(), Token: []byte("token")}
		wrapped, err := AppendResponse(nil, CallSASL, nil, message, nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wrapped[4:])
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		r, err := ParseResponse(frame)
		if byHand, ok := parseSuccess(frame); ok {
			generated, err := parseResponse(frame)
			if err != nil || generated.Failure != nil || generated.CallID != byHand.CallID ||
				!bytes.Equal(generated.ClientID, byHand.ClientID) || !bytes.Equal(generated.body, byHand.body) {
				t.Errorf("read by hand %+v; otherwise %+v, %v", byHand, generated, err)
			}
		}
		if err != nil {
			return
		}
		if byHand, ok := parseWrap(r.body); ok {
			if generated, err := r.wrapped(); err != nil || !bytes.Equal(generated, byHand) {
				t.Errorf("token read by hand %x; otherwise %x, %v", byHand, generated, err)
			}
		}
		var m yarnpb.KillApplicationResponseProto
		if r.Failure == nil && r.Decode(&m) != nil {
			return
		}
		again, err := AppendResponse(nil, r.CallID, r.ClientID, &m, r.Failure)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseResponse(again[4:])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r.Failure, got.Failure); diff != "" || got.CallID != r.CallID {
			t.Errorf("call %d became %d: %s", r.CallID, got.CallID, diff)
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x03abcrest"))
	f.Add([]byte("HTTP/1.1 404"))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := ReadFrame(bytes.NewReader(b), 1<<16)
		if err == nil && !bytes.Equal(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...), b[:4+len(frame)]) {
			t.Errorf("frame %x of %x", frame, b)
		}
	})
}
