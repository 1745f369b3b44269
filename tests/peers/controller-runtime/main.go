// The families that a program of controller-runtime is scraped for: a controller that has reconciled with every result,
// with leader election. Families of Go and of the process are left out, for they are of no controller.
//
// Without arguments it prints them. With --check FILE it fails unless the file is what it would print.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func main() {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	api := httptest.NewServer(&leases{})
	defer api.Close()
	if err := reconcileAll(&rest.Config{Host: api.URL}); err != nil {
		return err
	}
	printed, err := families(metrics.Registry)
	if err != nil {
		return err
	}
	switch {
	case len(os.Args) == 1:
		_, err = os.Stdout.WriteString(printed)
		return err
	case len(os.Args) == 3 && os.Args[1] == "--check":
		saved, err := os.ReadFile(os.Args[2])
		if err == nil && string(saved) != printed {
			err = fmt.Errorf("%s is not what is scraped now:\n%s", os.Args[2], printed)
		}
		return err
	default:
		return errors.New("usage: controller-runtime [--check FILE]")
	}
}

// The reconciles' results, one each.
var results = []func(context.Context) (reconcile.Result, error){
	func(context.Context) (reconcile.Result, error) { return reconcile.Result{}, nil },
	func(context.Context) (reconcile.Result, error) { return reconcile.Result{RequeueAfter: time.Hour}, nil },
	func(context.Context) (reconcile.Result, error) { return reconcile.Result{}, errors.New("it fails") },
	func(context.Context) (reconcile.Result, error) {
		return reconcile.Result{}, reconcile.TerminalError(errors.New("it fails for good"))
	},
	func(context.Context) (reconcile.Result, error) { panic("it panics") },
	func(ctx context.Context) (reconcile.Result, error) {
		<-ctx.Done()
		return reconcile.Result{}, ctx.Err()
	},
}

func reconcileAll(config *rest.Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m, err := manager.New(config, manager.Options{
		Metrics:                 server.Options{BindAddress: "0"},
		LeaderElection:          true,
		LeaderElectionID:        "candidates",
		LeaderElectionNamespace: "default",
		MapperProvider:          noMapper,
	})
	if err != nil {
		return err
	}
	var calls atomic.Int64
	ended := make(chan struct{})
	c, err := controller.New("pods", m, controller.Options{
		ReconciliationTimeout: 10 * time.Millisecond,
		Reconciler: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			call := calls.Add(1)
			if call > int64(len(results)) {
				if call == int64(len(results))+1 {
					close(ended)
				}
				return reconcile.Result{}, nil
			}
			return results[call-1](ctx)
		}),
	})
	if err != nil {
		return err
	}
	events := make(chan event.GenericEvent, len(results)+1)
	for i := range cap(events) {
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("pod-", i)}}
		events <- event.GenericEvent{Object: object}
	}
	if err := c.Watch(source.Channel[client.Object](events, &handler.EnqueueRequestForObject{})); err != nil {
		return err
	}
	go func() {
		select {
		case <-ended:
			time.Sleep(100 * time.Millisecond)
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := m.Start(ctx); err != nil {
		return err
	}
	select {
	case <-ended:
		return nil
	default:
		return fmt.Errorf("%d of %d reconciles in a minute", calls.Load(), len(results)+1)
	}
}
