// client-go, to be compared with.
//
// `peers wq` and `peers fifo` tell what its work queue and cache take for the work of ../../benches, in nanoseconds an
// item: each line has the name of a benchmark and the fastest of some rounds. `peers readers` tells how many writes and
// lists a second a store manages while 80 goroutines list a namespace. `peers follow KUBECONFIG NAMESPACE`
// follows a real server, and `peers notify SERVER RESOURCE` prints what its shared informer tells. `peers lead KUBECONFIG
// NAMESPACE LEASE IDENTITY` is a candidate for a lease.
//
// `peers serve TEMPLATE PODS CHANGES [tls] [expires]` is a server of pods, `peers informer MEDIA-TYPE SERVER VERSION`
// follows it, `peers growth` tells what an update takes by the number of objects, and `peers workers` what a key takes
// from one producer to eight workers. `peers edge TEMPLATE PODS NODE KUBECONFIG` serves the pods of one node over TLS.
package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const (
	items  = 100_000
	rounds = 15
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	is := func(command string, operands int) bool { return len(args) > operands && args[0] == command }
	switch {
	case is("wq", 0):
		wq()
	case is("fifo", 0):
		fifo()
	case is("readers", 0):
		readers()
	case is("growth", 0):
		return growth(args[1:])
	case is("workers", 0):
		workers()
	case is("follow", 2):
		return follow(args[1], args[2])
	case is("notify", 2):
		return notify(args[1], args[2])
	case is("lead", 4):
		return lead(args[1], args[2], args[3], args[4])
	case is("informer", 3):
		return inform(args[1], args[2], args[3])
	case is("serve", 3):
		return serve(args[1], args[2], args[3], args[4:])
	case is("edge", 4):
		return edge(args[1], args[2], args[3], args[4])
	default:
		return errors.New("usage: peers wq|fifo|readers|workers|growth OBJECTS...|follow KUBECONFIG NAMESPACE|" +
			"notify SERVER RESOURCE|lead KUBECONFIG NAMESPACE LEASE IDENTITY|informer MEDIA-TYPE SERVER VERSION|serve TEMPLATE PODS CHANGES [tls] [expires]|" +
			"edge TEMPLATE PODS NODE KUBECONFIG")
	}
	return nil
}

// measure prints what one of n items takes. What setup does is not measured.
func measure[T any](name string, n int, setup func() T, run func(T)) {
	fastest := time.Duration(math.MaxInt64)
	for range rounds {
		input := setup()
		begun := time.Now()
		run(input)
		fastest = min(fastest, time.Since(begun))
	}
	fmt.Printf("%s\t%.2f\n", name, float64(fastest.Nanoseconds())/float64(n))
}

func wq() {
	type queue = workqueue.TypedRateLimitingInterface[string]
	empty := func() queue {
		return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	}
	all := make([]string, 2*items)
	for n := range all {
		all[n] = fmt.Sprintf("ns-%03d/pod-%07d", n%100, n)
	}
	keys := all[:items]
	addAll := func(q queue) {
		for _, key := range keys {
			q.Add(key)
		}
	}
	full := func() queue { q := empty(); addAll(q); return q }

	one := empty()
	measure("add_get_done_one_key", items, func() queue { return one }, func(q queue) {
		for range keys {
			q.Add(keys[0])
			key, _ := q.Get()
			q.Done(key)
		}
	})
	measure("add_get_done_empty", items, func() queue { return one }, func(q queue) {
		for _, key := range keys {
			q.Add(key)
			key, _ := q.Get()
			q.Done(key)
		}
	})
	waiting := full()
	measure("add_get_done_100k_waiting", items, func() queue { return waiting }, func(q queue) {
		for range keys {
			key, _ := q.Get()
			q.Done(key)
			q.Add(key)
		}
	})
	others, next := full(), items
	measure("add_get_done_100k_waiting_others", items, func() queue { return others }, func(q queue) {
		for _, other := range all[next : next+items] {
			key, _ := q.Get()
			q.Done(key)
			q.Add(other)
		}
		next = items - next
	})
	measure("add_waiting", items, func() queue { return waiting }, addAll)
	measure("add_rate_limited", items, empty, func(q queue) {
		for _, key := range keys {
			q.AddRateLimited(key)
		}
	})
}

func newIndexer() cache.Indexer {
	return cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		"app":                func(o any) ([]string, error) { return []string{o.(*corev1.Pod).Labels["app"]}, nil },
	})
}

func newQueue(order string, known cache.KeyListerGetter) cache.Queue {
	if order == "by_key" {
		return cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: known})
	}
	return cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KnownObjects: known})
}

// apply does what an informer does with what a pop gives.
func apply(queue cache.Queue, indexer cache.Indexer) {
	queue.Pop(func(popped any, _ bool) error {
		for _, delta := range popped.(cache.Deltas) {
			indexer.Update(delta.Object)
		}
		return nil
	})
}

func fifo() {
	pods, list := make([]*corev1.Pod, items), make([]any, items)
	for n := range pods {
		pods[n] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("ns-%03d", n%100),
			Name:      fmt.Sprintf("pod-%07d", n),
			Labels:    map[string]string{"app": fmt.Sprintf("a%d", n%1000)},
		}}
		list[n] = pods[n]
	}
	type both struct {
		queue   cache.Queue
		indexer cache.Indexer
	}
	full := newIndexer()
	full.Replace(list, "")
	for _, order := range []string{"by_arrival", "by_key"} {
		warm := func() both { return both{newQueue(order, full), full} }
		measure("event_"+order+"_one_by_one", items, warm, func(b both) {
			for _, pod := range pods {
				b.queue.Update(pod)
				apply(b.queue, b.indexer)
			}
		})
		measure("event_"+order+"_100k_queued", items, warm, func(b both) {
			for _, pod := range pods {
				b.queue.Update(pod)
			}
			for range pods {
				apply(b.queue, b.indexer)
			}
		})
		cold := func() both { indexer := newIndexer(); return both{newQueue(order, indexer), indexer} }
		measure("list_"+order, items, cold, func(b both) {
			b.queue.Replace(list, "1")
			for range list {
				apply(b.queue, b.indexer)
			}
		})
	}
	keys := make([]string, items)
	for n := range keys {
		keys[n], _ = cache.MetaNamespaceKeyFunc(pods[n*7919%items])
	}
	indexer := func() cache.Indexer { return full }
	measure("get", items, indexer, func(indexer cache.Indexer) {
		for _, key := range keys {
			indexer.GetByKey(key)
		}
	})
	measure("by_index", 1000*1000, indexer, func(indexer cache.Indexer) {
		for range 1000 {
			indexer.ByIndex(cache.NamespaceIndex, "ns-050")
		}
	})
}
