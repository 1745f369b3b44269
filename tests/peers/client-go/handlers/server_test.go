package handlers

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

// How long a stream says nothing before its end: client-go lists again after a watch that ended sooner, and a stream
// that began with the state is a watch from then on.
const shortest = 1001 * time.Millisecond

// A server that gives the answers of an exchange, in their order, to whoever asks.
type server struct {
	steps []Step
	begun time.Time
	gate  gate

	mu       sync.Mutex
	next     int
	page     int
	confused []string
}

func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, stream := s.take(request)
	if answer == nil {
		return s.wait(request)
	}
	if !s.gate.pass(request.Context(), answer.At) || !s.sleep(request.Context(), answer.At) {
		return nil, request.Context().Err()
	}
	if answer.Status == 0 {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	ctx, cancel := context.WithCancel(request.Context())
	reader, writer := io.Pipe()
	go func() {
		defer cancel()
		// client-go does not close every body that it does not read.
		defer context.AfterFunc(ctx, func() { writer.CloseWithError(ctx.Err()) })()
		s.write(ctx, answer, stream, writer)
	}()
	response := head(request, answer.Status, answer.Type)
	if answer.RetryAfter > 0 {
		response.Header.Set("Retry-After", strconv.Itoa(answer.RetryAfter))
	}
	response.Body = body{reader, cancel}
	return response, nil
}

// The answer to a request, and whether it is a stream.
func (s *server) take(request *http.Request) (*Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	query := request.URL.Query()
	kind := "list"
	if query.Get("sendInitialEvents") == "true" {
		kind = "watchlist"
	} else if query.Get("watch") != "" {
		kind = "watch"
	}
	if kind == "list" && query.Get("continue") != "" {
		list := &s.steps[s.next-1]
		if s.page == len(list.Answers) {
			return refusal(http.StatusInternalServerError), false
		}
		s.page++
		return &list.Answers[s.page-1], false
	}
	wanted := ""
	if s.next < len(s.steps) {
		wanted = s.steps[s.next].Kind
	}
	switch {
	case kind == wanted:
		s.next++
		s.page = 1
		return &s.steps[s.next-1].Answers[0], kind != "list"
	// It asks for a stream first, and again, whatever the other informer does.
	case kind == "watchlist" && wanted == "list":
		return refusal(http.StatusUnprocessableEntity), false
	case kind == "list" && wanted == "watchlist":
		return refusal(http.StatusInternalServerError), false
	case wanted != "":
		s.confused = append(s.confused, fmt.Sprintf("%s in place of the %s that is step %d", kind, wanted, s.next))
	}
	return nil, false
}

// Nothing comes any more.
func (s *server) wait(request *http.Request) (*http.Response, error) {
	s.gate.pass(request.Context(), forever)
	<-request.Context().Done()
	return nil, request.Context().Err()
}

func (s *server) write(ctx context.Context, answer *Answer, stream bool, writer *io.PipeWriter) {
	said := time.Now()
	for _, piece := range answer.Pieces {
		if !s.gate.pass(ctx, piece.At) || !s.sleep(ctx, piece.At) {
			return
		}
		bytes := piece.Bytes
		if bytes == nil {
			bytes = []byte(piece.Text)
		}
		if _, err := writer.Write(bytes); err != nil {
			return
		}
		said = time.Now()
	}
	if answer.End == "open" {
		s.gate.pass(ctx, forever)
		<-ctx.Done()
		return
	}
	if !s.gate.pass(ctx, answer.EndAt) || !s.sleep(ctx, answer.EndAt) {
		return
	}
	if stream && answer.Status == http.StatusOK && !s.sleep(ctx, said.Add(shortest).Sub(s.begun)) {
		return
	}
	if answer.End == "eof" {
		writer.Close()
	} else {
		writer.CloseWithError(syscall.ECONNRESET)
	}
}

// Waits for a time, which may be over: client-go is not as quick as the other informer after a failure.
func (s *server) sleep(ctx context.Context, at time.Duration) bool {
	timer := time.NewTimer(time.Until(s.begun.Add(at)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// What a server says that does not have what is asked for; it comes at once.
func refusal(status int) *Answer {
	text := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`,
		strings.ReplaceAll(http.StatusText(status), " ", ""), status)
	return &Answer{Status: status, Type: "application/json", Pieces: []Piece{{Text: text}}, End: "eof"}
}

func head(request *http.Request, status int, mediaType string) *http.Response {
	return &http.Response{
		Status:        http.StatusText(status),
		StatusCode:    status,
		Proto:         "HTTP/2.0",
		ProtoMajor:    2,
		Header:        http.Header{"Content-Type": {mediaType}},
		ContentLength: -1,
		Request:       request,
	}
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
