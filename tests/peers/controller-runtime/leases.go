package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// leases answers for one Lease, and refuses all other requests.
type leases struct {
	lock    sync.Mutex
	lease   *coordinationv1.Lease
	version int
}

func (l *leases) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.lock.Lock()
	defer l.lock.Unlock()
	w.Header().Set("Content-Type", "application/json")
	isLease := strings.HasPrefix(r.URL.Path, "/apis/coordination.k8s.io/v1/namespaces/default/leases")
	switch {
	case isLease && (r.Method == http.MethodPost || r.Method == http.MethodPut):
		lease, err := read(r)
		if err != nil {
			refuse(w, http.StatusBadRequest)
			return
		}
		l.version++
		lease.ResourceVersion = fmt.Sprint(l.version)
		l.lease = lease
		answer(w, lease)
	case isLease && r.Method == http.MethodGet && l.lease != nil:
		answer(w, l.lease)
	default:
		refuse(w, http.StatusNotFound)
	}
}

// read decodes JSON and Protobuf, which controller-runtime sends.
func read(r *http.Request) (*coordinationv1.Lease, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	lease := &coordinationv1.Lease{}
	_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, lease)
	return lease, err
}

func answer(w http.ResponseWriter, lease *coordinationv1.Lease) {
	lease.TypeMeta = metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"}
	_ = json.NewEncoder(w).Encode(lease)
}

func refuse(w http.ResponseWriter, code int) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Reason:   metav1.StatusReasonNotFound,
		Code:     int32(code),
	})
}

// noMapper saves discovery, for the controller watches a channel.
func noMapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	return meta.NewDefaultRESTMapper(nil), nil
}
