package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// follow follows the ConfigMaps of a namespace as a controller does, with the defaults of client-go, until its input
// ends. Each thing that happens is a line of its output:
//
//	synced            the first state is complete
//	told NUMBER       the handler was told of a ConfigMap with that number in its data
//	answered STATUS   the server answered a request
//	refused           nobody listened
//	failed            a request failed in another way
func follow(kubeconfig, namespace string) error {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	said := &lines{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{next, said} })
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	tell := func(object any) {
		if number := object.(*corev1.ConfigMap).Data["number"]; number != "" {
			said.say("told " + number)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, object any) { tell(object) }}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory.StartWithContext(ctx)
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			said.say("synced")
		}
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// Lines of the standard output, each written at once.
type lines struct{ sync.Mutex }

func (l *lines) say(line string) {
	l.Lock()
	defer l.Unlock()
	fmt.Println(line)
}

// Says what becomes of each request.
type counted struct {
	next http.RoundTripper
	said *lines
}

func (c counted) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	switch {
	case err == nil:
		c.said.say(fmt.Sprint("answered ", response.StatusCode))
	case errors.Is(err, syscall.ECONNREFUSED):
		c.said.say("refused")
	default:
		c.said.say("failed")
	}
	return response, err
}
