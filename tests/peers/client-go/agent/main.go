// An agent on a node, with client-go: it follows the pods of its node, keeps three fields of each, and prints every
// change, as runtime-smol/examples/edge-agent.rs does. `agent NODE`; tests/benches/agent runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// pod is what is kept of one.
type pod struct {
	metav1.ObjectMeta
	phase, ip   string
	hostNetwork bool
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: agent NODE")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := typed.NewForConfig(config)
	if err != nil {
		return err
	}
	ofNode := fields.OneTermEqualSelector("spec.nodeName", args[0])
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client.RESTClient(), "pods", "", ofNode),
		ObjectType:    &corev1.Pod{},
		Transform:     keep,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { fmt.Println("+", line(object)) },
			UpdateFunc: func(_, object any) { fmt.Println("~", line(object)) },
			DeleteFunc: func(object any) { fmt.Println("-", key(object)) },
		},
	})
	controller.RunWithContext(context.Background())
	return nil
}

// keep leaves of a pod what identifies it and three fields.
func keep(object any) (any, error) {
	whole, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	meta := metav1.ObjectMeta{
		Namespace: whole.Namespace, Name: whole.Name, UID: whole.UID, ResourceVersion: whole.ResourceVersion,
		Labels: whole.Labels, OwnerReferences: whole.OwnerReferences,
	}
	return &pod{meta, string(whole.Status.Phase), whole.Status.PodIP, whole.Spec.HostNetwork}, nil
}

func line(object any) string {
	p, ok := object.(*pod)
	if !ok {
		return key(object)
	}
	network, ip := "a network of its own", p.ip
	if p.hostNetwork {
		network = "the node's network"
	}
	if ip == "" {
		ip = "no address"
	}
	return fmt.Sprintf("%s %s at %s in %s", key(object), p.phase, ip, network)
}

func key(object any) string {
	key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	return key
}
