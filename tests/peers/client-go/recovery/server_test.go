package recovery

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// How often a server says how far it is to a watch that asks for it.
const bookmarkEvery = time.Minute

// A state that a server is in: what it answers, and to which requests. The zero value is health.
type state struct {
	// The HTTP status of its answers; 0 where it is well.
	status int
	// Retry-After in seconds; 0 where the answer has none.
	retryAfter int
	// Nobody listens.
	refuses bool
	// Lists, and watches that ask for the initial events, are answered as by a server that is well.
	watchesOnly bool
}

// An API server in this process, with three ConfigMaps that nobody changes. Its clients reach it through doors.
type server struct {
	mu    sync.Mutex
	state state
	// Each stream that is open, and what breaks it.
	streams map[*stream]struct{}
}

// One client's way to its server: a transport that counts.
type door struct {
	server *server
	seen
}

// What went through a door.
type seen struct {
	// Requests that the server answered, whatever it said.
	accepted []time.Time
	// Connections that it refused.
	refused int
	// Watches that it answered with a stream.
	watches []time.Time
}

type stream struct {
	broken chan struct{}
	writer *io.PipeWriter
}

// What net/http makes of a body: one that the client closes.
type body struct {
	*io.PipeReader
	close context.CancelFunc
}

func (b body) Close() error {
	b.close()
	return b.PipeReader.Close()
}

func newServer() *server {
	return &server{streams: map[*stream]struct{}{}}
}

func (s *server) become(state state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// Breaks every stream, as the end of the server's process does: over HTTP/2 the client's read ends unexpectedly.
func (s *server) breakStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for stream := range s.streams {
		close(stream.broken)
	}
	clear(s.streams)
}

func (s *server) door() *door {
	return &door{server: s}
}

// What went through since this was asked last.
func (d *door) take() seen {
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	taken := d.seen
	d.seen = seen{}
	return taken
}

func (d *door) RoundTrip(request *http.Request) (*http.Response, error) {
	s := d.server
	s.mu.Lock()
	defer s.mu.Unlock()
	query := request.URL.Query()
	watches := query.Get("watch") == "true" || query.Get("watch") == "1"
	initial := query.Get("sendInitialEvents") == "true"
	if s.state.refuses {
		d.refused++
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	d.accepted = append(d.accepted, time.Now())
	if s.state.status != 0 && (!s.state.watchesOnly || watches && !initial) {
		return refusal(request, s.state), nil
	}
	if !watches {
		return answer(request, http.StatusOK, list()), nil
	}
	d.watches = append(d.watches, time.Now())
	return s.watch(request, initial), nil
}

// Opens a stream. It ends when it was asked to end, when its client leaves, or when it is broken.
func (s *server) watch(request *http.Request, initial bool) *http.Response {
	query := request.URL.Query()
	seconds, err := strconv.Atoi(query.Get("timeoutSeconds"))
	if err != nil {
		seconds = 3600
	}
	ctx, cancel := context.WithCancel(request.Context())
	reader, writer := io.Pipe()
	open := &stream{broken: make(chan struct{}), writer: writer}
	s.streams[open] = struct{}{}
	go func() {
		defer cancel()
		if initial {
			for number := range 3 {
				fmt.Fprintf(writer, "{\"type\":\"ADDED\",\"object\":%s}\n", configMap(number))
			}
			fmt.Fprint(writer, bookmark(`"annotations":{"k8s.io/initial-events-end":"true"},`))
		}
		open.run(ctx, time.Duration(seconds)*time.Second, query.Get("allowWatchBookmarks") == "true")
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.streams, open)
	}()
	response := answer(request, http.StatusOK, "")
	response.ContentLength = -1
	response.Body = body{reader, cancel}
	return response
}

func (s *stream) run(ctx context.Context, length time.Duration, bookmarks bool) {
	end := time.NewTimer(length)
	defer end.Stop()
	tick := time.NewTicker(bookmarkEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if bookmarks {
				fmt.Fprint(s.writer, bookmark(""))
			}
		case <-end.C:
			s.writer.Close()
			return
		case <-s.broken:
			s.writer.CloseWithError(io.ErrUnexpectedEOF)
			return
		case <-ctx.Done():
			s.writer.CloseWithError(ctx.Err())
			return
		}
	}
}

func refusal(request *http.Request, state state) *http.Response {
	response := answer(request, state.status, fmt.Sprintf(
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":%q,"code":%d}`,
		reasons[state.status], state.status))
	if state.retryAfter > 0 {
		response.Header.Set("Retry-After", strconv.Itoa(state.retryAfter))
	}
	return response
}

func answer(request *http.Request, status int, text string) *http.Response {
	return &http.Response{
		Status:        http.StatusText(status),
		StatusCode:    status,
		Proto:         "HTTP/2.0",
		ProtoMajor:    2,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(strings.NewReader(text)),
		ContentLength: int64(len(text)),
		Request:       request,
	}
}

func list() string {
	items := make([]string, 3)
	for number := range items {
		items[number] = configMap(number)
	}
	return fmt.Sprintf(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[%s]}`,
		strings.Join(items, ","))
}

func configMap(number int) string {
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"map-%d","namespace":"default",`+
		`"uid":"uid-%d","resourceVersion":"%d"}}`, number, number, number+1)
}

func bookmark(annotations string) string {
	return fmt.Sprintf(`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1",`+
		`"metadata":{%s"resourceVersion":"10"}}}`+"\n", annotations)
}

// The reasons that kube-apiserver gives.
var reasons = map[int]string{
	http.StatusUnauthorized:        "Unauthorized",
	http.StatusForbidden:           "Forbidden",
	http.StatusNotFound:            "NotFound",
	http.StatusGone:                "Expired",
	http.StatusTooManyRequests:     "TooManyRequests",
	http.StatusInternalServerError: "InternalError",
	http.StatusServiceUnavailable:  "ServiceUnavailable",
	http.StatusGatewayTimeout:      "Timeout",
}
