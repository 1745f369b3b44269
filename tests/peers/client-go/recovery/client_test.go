package recovery

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	// client-go logs each failure.
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// Starts a shared informer for ConfigMaps as a controller does: the defaults of client-go, its client's rate limit
// included. All that is replaced is the transport. It ends with the test.
func follow(t *testing.T, door *door) {
	clients, err := kubernetes.NewForConfig(&rest.Config{Host: "http://server", Transport: door})
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(clients, 0)
	factory.Core().V1().ConfigMaps().Informer()
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
}

// So many of them, each with a door of its own.
func followers(t *testing.T, server *server, count int) []*door {
	doors := make([]*door, count)
	for number := range doors {
		doors[number] = server.door()
		follow(t, doors[number])
	}
	return doors
}

// What a bubble's clock goes on from: client-go remembers when it saw its last error, from the start of the process on,
// and would wait for years where that is in the future.
var ended = time.Now().Round(0)

// Runs something under a virtual time of its own.
func bubble(t *testing.T, run func(*testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(ended))
		run(t)
		ended = time.Now().Round(0)
	})
}
