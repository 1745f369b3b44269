package handlers

import (
	"context"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var kinds = map[string]runtime.Object{"pods": &corev1.Pod{}, "configmaps": &corev1.ConfigMap{}}

// Runs an exchange; it must be called in a bubble.
func follow(exchange *Exchange) (*Told, error) {
	begun := time.Now()
	server := &server{steps: exchange.Steps, begun: begun, gate: newGate()}
	client, err := rest.RESTClientFor(&rest.Config{
		Host:      "http://server",
		APIPath:   "/api",
		Transport: server,
		// Pages of a list come at once.
		QPS: -1,
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &corev1.SchemeGroupVersion,
			NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		},
	})
	if err != nil {
		return nil, err
	}
	lists := cache.NewListWatchFromClient(client, exchange.Resource, exchange.Namespace, fields.Everything())
	informer := cache.NewSharedIndexInformer(lists, kinds[exchange.Resource], exchange.Resync, cache.Indexers{})
	stage := &stage{exchange: exchange, informer: informer, begun: begun}
	stage.told.Handlers = make([][]Notification, len(exchange.Handlers))
	stage.registered = make([]cache.ResourceEventHandlerRegistration, len(exchange.Handlers))
	before := 0
	for ; before < len(exchange.Script) && exchange.Script[before].At < 0; before++ {
		if err := stage.act(exchange.Script[before]); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		informer.RunWithContext(ctx)
	}()
	for _, act := range exchange.Script[before:] {
		server.gate.advance(begun, act.At)
		if err := stage.act(act); err != nil {
			cancel()
			return nil, err
		}
	}
	// What follows from the last act is told at its time.
	synctest.Wait()
	for _, object := range informer.GetStore().List() {
		stage.told.Store = append(stage.told.Store, key(object)+" "+state(object).Version)
	}
	slices.Sort(stage.told.Store)
	cancel()
	<-over
	stage.told.Confused = server.confused
	return &stage.told, nil
}

// An informer and its handlers.
type stage struct {
	exchange   *Exchange
	informer   cache.SharedIndexInformer
	begun      time.Time
	registered []cache.ResourceEventHandlerRegistration

	mu   sync.Mutex
	told Told
}

func (s *stage) act(act Act) error {
	switch act.Do {
	case "join":
		registered, err := s.register(act.Handler)
		s.registered[act.Handler] = registered
		return err
	case "leave":
		registered := s.registered[act.Handler]
		s.registered[act.Handler] = nil
		return s.informer.RemoveEventHandler(registered)
	default:
		synced := make([]*bool, len(s.registered))
		for handler, registered := range s.registered {
			if registered != nil {
				synced[handler] = new(registered.HasSynced())
			}
		}
		s.told.Synced = append(s.told.Synced, synced)
		return nil
	}
}

func (s *stage) register(number int) (cache.ResourceEventHandlerRegistration, error) {
	config := s.exchange.Handlers[number]
	var handler cache.ResourceEventHandler = cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			s.note(number, Notification{Event: "add", Key: key(object), State: state(object), Initial: initial})
		},
		UpdateFunc: func(old, object any) {
			before := state(old)
			s.note(number, Notification{Event: "update", Key: key(object), State: state(object), Old: &before})
		},
		DeleteFunc: func(object any) {
			_, unknown := object.(cache.DeletedFinalStateUnknown)
			s.note(number, Notification{Event: "delete", Key: key(object), State: state(object), Unknown: unknown})
		},
	}
	if config.Without != "" {
		handler = cache.FilteringResourceEventHandler{
			FilterFunc: func(object any) bool {
				accessor, _ := meta.Accessor(last(object))
				return accessor.GetLabels()["app"] != config.Without
			},
			Handler: handler,
		}
	}
	if config.Resync < 0 {
		return s.informer.AddEventHandler(handler)
	}
	return s.informer.AddEventHandlerWithResyncPeriod(handler, config.Resync)
}

// Handlers run side by side.
func (s *stage) note(handler int, notification Notification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	notification.At = time.Since(s.begun)
	s.told.Handlers[handler] = append(s.told.Handlers[handler], notification)
}

// An object, or the last that is known of one that is gone.
func last(object any) any {
	if gone, unknown := object.(cache.DeletedFinalStateUnknown); unknown {
		return gone.Obj
	}
	return object
}

func key(object any) string {
	key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	return key
}

func state(object any) State {
	accessor, _ := meta.Accessor(last(object))
	return State{string(accessor.GetUID()), accessor.GetResourceVersion()}
}
