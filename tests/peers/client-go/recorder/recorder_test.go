// How many Events client-go's two recorders make of the same occurrences, and how many requests: client-go itself, under
// the virtual time of testing/synctest, with nothing replaced but the transport.
//
//	go test ./recorder           compares what comes out with figures.tsv
//	go test ./recorder -update   writes it there
package recorder

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
)

var update = flag.Bool("update", false, "write the figures instead of comparing with them")

func TestMain(m *testing.M) {
	// client-go logs each Event that it drops.
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// What happens to the objects of a controller. `tests/tests/simulation/recorder.rs` has the same.
var inputs = []struct {
	name        string
	occurrences int
	every       time.Duration
	objects     int
	reasons     int
	// Each occurrence has a note of its own.
	notes bool
	// The object changes before each occurrence.
	versions bool
}{
	{"one reason, 10,000 times, each second", 10_000, time.Second, 1, 1, false, false},
	{"the same, with a note of its own each time", 10_000, time.Second, 1, 1, true, false},
	{"the same, and the object changes each time", 10_000, time.Second, 1, 1, true, true},
	{"a hundred reasons in a second", 100, 10 * time.Millisecond, 1, 100, false, false},
	{"a hundred reasons, one each minute", 100, time.Minute, 1, 100, false, false},
	{"a thousand objects in a second", 1_000, time.Millisecond, 1_000, 1, false, false},
}

// Records an occurrence of a warning.
type recorder func(pod *v1.Pod, reason, note string)

// Starts a recorder on a client; what it returns ends it.
type start func(clients *kubernetes.Clientset) (recorder, func())

var recorders = []struct {
	name  string
	start start
}{
	{"tools/record", func(clients *kubernetes.Clientset) (recorder, func()) {
		broadcaster := record.NewBroadcaster()
		broadcaster.StartRecordingToSink(&corev1.EventSinkImpl{Interface: clients.CoreV1().Events("")})
		it := broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: "foo"})
		return func(pod *v1.Pod, reason, note string) { it.Event(pod, v1.EventTypeWarning, reason, note) }, broadcaster.Shutdown
	}},
	{"tools/events", func(clients *kubernetes.Clientset) (recorder, func()) {
		ctx, cancel := context.WithCancel(context.Background())
		broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: clients.EventsV1()})
		if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
			panic(err)
		}
		it := broadcaster.NewRecorder(scheme.Scheme, "foo")
		end := func() { cancel(); broadcaster.Shutdown() }
		return func(pod *v1.Pod, reason, note string) {
			it.Eventf(pod, nil, v1.EventTypeWarning, reason, "Trying", "%s", note)
		}, end
	}},
}

func TestWhatBecomesOfOccurrences(t *testing.T) {
	lines := []string{"# What client-go makes of occurrences; written by `go test ./recorder -update`.",
		"# input\trecorder\tEvents\trequests\toccurrences that the Events count"}
	for _, input := range inputs {
		for _, kind := range recorders {
			server := &server{events: map[string]map[string]any{}}
			synctest.Test(t, func(t *testing.T) {
				config := rest.Config{Host: "http://server", Transport: server, QPS: -1}
				config.ContentType = "application/json"
				clients, err := kubernetes.NewForConfig(&config)
				if err != nil {
					t.Fatal(err)
				}
				it, end := kind.start(clients)
				for number := range input.occurrences {
					pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", UID: "u-1", ResourceVersion: "1"}}
					pod.Name = fmt.Sprintf("pod-%d", number%input.objects)
					note := "it failed"
					if input.notes {
						note = fmt.Sprintf("attempt %d failed", number)
					}
					if input.versions {
						pod.ResourceVersion = fmt.Sprint(number)
					}
					it(pod, fmt.Sprintf("Reason%d", number%input.reasons), note)
					time.Sleep(input.every)
				}
				// What is written later is.
				time.Sleep(time.Hour)
				end()
			})
			line := fmt.Sprintf("%s\t%s\t%d\t%d\t%d", input.name, kind.name, len(server.events), server.requests, server.told())
			t.Log(line)
			lines = append(lines, line)
		}
	}
	compare(t, strings.Join(lines, "\n")+"\n")
}

func compare(t *testing.T, text string) {
	const path = "figures.tsv"
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	known, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(known) != text {
		t.Errorf("%s says\n%s\nand now it is\n%s", path, known, text)
	}
}

// An API server that keeps Events.
type server struct {
	mu       sync.Mutex
	events   map[string]map[string]any
	requests int
}

func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	var sent map[string]any
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	name := request.URL.Path[strings.LastIndex(request.URL.Path, "/")+1:]
	if request.Method == http.MethodPost {
		name = sent["metadata"].(map[string]any)["name"].(string)
		s.events[name] = sent
	}
	event, isThere := s.events[name]
	if !isThere {
		return answer(request, http.StatusNotFound, map[string]any{"kind": "Status", "apiVersion": "v1", "reason": "NotFound"})
	}
	for field, value := range sent {
		event[field] = value
	}
	return answer(request, http.StatusOK, event)
}

func answer(request *http.Request, status int, object map[string]any) (*http.Response, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	body := io.NopCloser(strings.NewReader(string(text)))
	return &http.Response{StatusCode: status, Header: header, Body: body, Request: request}, nil
}

// The occurrences that the Events count.
func (s *server) told() int {
	told := 0
	for _, event := range s.events {
		count := 1.0
		if series, ok := event["series"].(map[string]any); ok {
			count = series["count"].(float64)
		} else if legacy, ok := event["count"].(float64); ok {
			count = max(legacy, 1)
		}
		told += int(count)
	}
	return told
}
