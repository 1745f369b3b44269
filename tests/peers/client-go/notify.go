package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// A notification, in the form of tests/data/captures.
type notification struct {
	Event   string `json:"event"`
	Key     string `json:"key"`
	Version string `json:"rv"`
	Old     string `json:"old_rv,omitempty"`
	Initial *bool  `json:"initial,omitempty"`
	Unknown *bool  `json:"final_state_unknown,omitempty"`
}

// notify follows a resource of the core group at a server without credentials, with a shared informer, until its input
// ends. Each notification is a line, and the last line has the store.
func notify(server, resource string) error {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	clients, err := kubernetes.NewForConfig(&rest.Config{Host: server})
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(clients, 0)
	generic, err := factory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: resource})
	if err != nil {
		return err
	}
	informer := generic.Informer()
	var mu sync.Mutex
	say := func(line any) {
		mu.Lock()
		defer mu.Unlock()
		text, _ := json.Marshal(line)
		fmt.Println(string(text))
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			say(notification{Event: "add", Key: keyOf(object), Version: versionOf(object), Initial: &initial})
		},
		UpdateFunc: func(old, object any) {
			say(notification{Event: "update", Key: keyOf(object), Version: versionOf(object), Old: versionOf(old)})
		},
		DeleteFunc: func(object any) {
			last, unknown := object.(cache.DeletedFinalStateUnknown)
			if unknown {
				object = last.Obj
			}
			say(notification{Event: "delete", Key: keyOf(object), Version: versionOf(object), Unknown: &unknown})
		},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory.StartWithContext(ctx)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	var store []string
	for _, object := range informer.GetStore().List() {
		store = append(store, keyOf(object)+" "+versionOf(object))
	}
	slices.Sort(store)
	say(map[string][]string{"store": store})
	return nil
}

func keyOf(object any) string {
	key, _ := cache.MetaNamespaceKeyFunc(object)
	return key
}

func versionOf(object any) string {
	accessor, _ := meta.Accessor(object)
	return accessor.GetResourceVersion()
}
