package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// serve is an API server that has nothing but pods, until its input ends. It lists count of them, in pages or as a
// stream, in JSON or protobuf, plain or over TLS. A watch is told changes of them, and then nothing, or with expires:
// that its version is too old. Every tenth pod has changed in the list after that. With paced, each change is sent by
// itself, with a pause behind it.
//
// Its first line of output is its address. The list is at the version count, each change makes the next one, and so
// does each pod that changed before the second list.
func serve(template, count, changes string, options []string) error {
	text, unread := os.ReadFile(template)
	listed, uncounted := strconv.Atoi(count)
	changed, unchanged := strconv.Atoi(changes)
	if err := errors.Join(unread, uncounted, unchanged); err != nil {
		return err
	}
	pods, err := newPods(string(text), listed, changed)
	if err != nil {
		return err
	}
	server := httptest.NewUnstartedServer(pods)
	start := server.Start
	for _, option := range options {
		switch option {
		case "tls":
			start = server.StartTLS
		case "expires":
			pods.expires = true
		case "paced":
			pods.paced = true
		default:
			return fmt.Errorf("no option %s", option)
		}
	}
	start()
	fmt.Println(server.URL)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

type pods struct {
	// Each second part of the template names what stands there.
	parts    []string
	template *corev1.Pod
	changes  int
	// The version of each pod in the first list, and in those after that.
	versions, later []int
	// Whether the first watch ends with 410, and whether it has.
	expires bool
	expired atomic.Bool
	// Whether changes are sent one by one.
	paced bool
}

func newPods(template string, count, changes int) (*pods, error) {
	p := &pods{parts: strings.Split(template, "@"), changes: changes, versions: make([]int, count)}
	for n := range p.versions {
		p.versions[n] = n + 1
	}
	p.later = slices.Clone(p.versions)
	for change := range changes {
		p.later[p.changed(change)] = count + change + 1
	}
	for n := 9; n < count; n += 10 {
		p.later[n] = count + changes + n/10 + 1
	}
	return p, json.Unmarshal([]byte(p.text(0, 1)), &p.template)
}

// changed tells which pod a change is of.
func (p *pods) changed(change int) int { return change * 7919 % len(p.versions) }

// listed are the versions of the pods in a list, and that of the list.
func (p *pods) listed() ([]int, int) {
	if p.expired.Load() {
		return p.later, len(p.later) + p.changes + len(p.later)/10
	}
	return p.versions, len(p.versions)
}

func (p *pods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	buffer := bufio.NewWriterSize(w, 1<<16)
	contentType, out := "application/json", encoding(asJSON{buffer, p})
	if strings.Contains(r.Header.Get("Accept"), "protobuf") {
		contentType, out = "application/vnd.kubernetes.protobuf", newProtobuf(buffer, p)
	}
	query := r.URL.Query()
	watch, _ := strconv.ParseBool(query.Get("watch"))
	switch {
	case r.URL.Path != "/api/v1/pods":
		http.NotFound(w, r)
	case watch:
		w.Header().Set("Content-Type", contentType+";stream=watch")
		flush := func() {
			buffer.Flush()
			w.(http.Flusher).Flush()
		}
		open := p.watch(out, query.Get("sendInitialEvents") == "true", flush)
		flush()
		if open {
			<-r.Context().Done()
		}
	default:
		w.Header().Set("Content-Type", contentType)
		versions, version := p.listed()
		first, _ := strconv.Atoi(query.Get("continue"))
		end := len(versions)
		// A real server takes the version 0 from its cache, which has no pages.
		if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 && query.Get("resourceVersion") != "0" {
			end = min(first+limit, end)
		}
		out.list(versions, first, end, version)
		buffer.Flush()
	}
}

// watch writes all that a watch is told, and tells whether it stays open.
func (p *pods) watch(out encoding, initial bool, flush func()) bool {
	expired := p.expired.Load()
	if initial {
		versions, version := p.listed()
		for n := range versions {
			out.event("ADDED", n, versions[n])
		}
		out.bookmark(version)
	}
	if expired {
		return true
	}
	for change := range p.changes {
		out.event("MODIFIED", p.changed(change), len(p.versions)+change+1)
		if p.paced {
			flush()
			time.Sleep(pause)
		}
	}
	if p.expires {
		p.expired.Store(true)
		out.gone()
	}
	return !p.expires
}

// pause is long enough for a client to have nothing to do in the end.
const pause = 50 * time.Microsecond

const itsKind = `"kind":"Pod","apiVersion":"v1",`

// text is a pod as JSON.
func (p *pods) text(n, version int) string {
	var text strings.Builder
	text.Grow(11_000)
	for place, part := range p.parts {
		switch {
		case place%2 == 0:
			text.WriteString(part)
		case part == "NAME":
			text.WriteString(nameOf(n))
		case part == "NS":
			text.WriteString(namespaceOf(n))
		case part == "UID":
			text.WriteString(uidOf(n))
		case part == "RV":
			text.WriteString(strconv.Itoa(version))
		}
	}
	return text.String()
}

// object is the same pod.
func (p *pods) object(n, version int) *corev1.Pod {
	pod := *p.template
	pod.Name, pod.Namespace, pod.UID = nameOf(n), namespaceOf(n), types.UID(uidOf(n))
	pod.ResourceVersion = strconv.Itoa(version)
	return &pod
}

func nameOf(n int) string      { return fmt.Sprintf("pod-%07d", n) }
func namespaceOf(n int) string { return fmt.Sprintf("ns-%03d", n%100) }
func uidOf(n int) string       { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// encoding writes the parts of answers.
type encoding interface {
	list(versions []int, first, end, version int)
	event(kind string, n, version int)
	// bookmark ends the initial events.
	bookmark(version int)
	// gone tells that the version of the watch is too old.
	gone()
}

type asJSON struct {
	*bufio.Writer
	pods *pods
}

func (j asJSON) list(versions []int, first, end, version int) {
	fmt.Fprintf(j, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d"`, version)
	if end < len(versions) {
		fmt.Fprintf(j, `,"continue":"%d","remainingItemCount":%d`, end, len(versions)-end)
	}
	j.WriteString(`},"items":[`)
	for n := first; n < end; n++ {
		if n > first {
			j.WriteByte(',')
		}
		j.WriteString(strings.Replace(j.pods.text(n, versions[n]), itsKind, "", 1))
	}
	j.WriteString("]}\n")
}

func (j asJSON) event(kind string, n, version int) {
	j.WriteString(`{"type":"` + kind + `","object":`)
	j.WriteString(j.pods.text(n, version))
	j.WriteString("}\n")
}

func (j asJSON) bookmark(version int) {
	fmt.Fprintf(j, `{"type":"BOOKMARK","object":{%s"metadata":{"resourceVersion":"%d","annotations":{"%s":"true"}}}}`+"\n",
		itsKind, version, metav1.InitialEventsAnnotationKey)
}

func (j asJSON) gone() {
	status, _ := json.Marshal(tooOld())
	fmt.Fprintf(j, `{"type":"ERROR","object":%s}`+"\n", status)
}

func tooOld() *metav1.Status {
	status := apierrors.NewResourceExpired("too old resource version").Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return &status
}

// asProtobuf is client-go's default encoding of built-in types.
type asProtobuf struct {
	runtime.Encoder
	out    io.Writer
	frames io.Writer
	pods   *pods
}

func newProtobuf(out io.Writer, pods *pods) asProtobuf {
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	encoder := scheme.Codecs.EncoderForVersion(serializer, corev1.SchemeGroupVersion)
	return asProtobuf{encoder, out, protobuf.LengthDelimitedFramer.NewFrameWriter(out), pods}
}

func (p asProtobuf) list(versions []int, first, end, version int) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(version)}}
	if end < len(versions) {
		list.Continue = strconv.Itoa(end)
	}
	for n := first; n < end; n++ {
		list.Items = append(list.Items, *p.pods.object(n, versions[n]))
	}
	p.Encode(list, p.out)
}

func (p asProtobuf) event(kind string, n, version int) { p.send(kind, p.pods.object(n, version)) }

func (p asProtobuf) bookmark(version int) {
	p.send("BOOKMARK", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.Itoa(version),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}})
}

func (p asProtobuf) gone() { p.send("ERROR", tooOld()) }

func (p asProtobuf) send(kind string, object runtime.Object) {
	var raw bytes.Buffer
	p.Encode(object, &raw)
	event := metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: raw.Bytes()}}
	frame, _ := event.Marshal()
	p.frames.Write(frame)
}
