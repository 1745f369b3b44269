package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// inform follows the pods of a server without credentials in an encoding, which is a media type, as a controller with
// two workers that have nothing to do. It ends once its handler has been told of the object of the version last and its
// queue is drained, and prints a line of JSON about what its cache has and what that took. Memory is taken after two
// collections of garbage; live is what they left of the heap.
func inform(encoding, server, last string) error {
	config := &rest.Config{Host: server}
	config.ContentType, config.AcceptContentTypes = encoding, encoding
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	begun, before := time.Now(), status("VmRSS:")
	factory := informers.NewSharedInformerFactory(clients, 0)
	informer := factory.Core().V1().Pods().Informer()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	told := make(chan struct{})
	tell := func(object any) {
		queue.Add(keyOf(object))
		if versionOf(object) == last {
			close(told)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, object any) { tell(object) }}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return err
	}
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() { work(queue, informer.GetIndexer()) })
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory.StartWithContext(ctx)
	<-told
	queue.ShutDown()
	workers.Wait()

	wall, cpu, peak := time.Since(begun), cpuTime(), status("VmHWM:")
	runtime.GC()
	runtime.GC()
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	rss := status("VmRSS:")
	var digest uint64
	for _, object := range informer.GetStore().List() {
		hash := fnv.New64a()
		fmt.Fprintf(hash, "%s@%s", keyOf(object), versionOf(object))
		digest += hash.Sum64()
	}
	line, err := json.Marshal(map[string]any{
		"cpu":     cpu.Seconds(),
		"wall":    wall.Seconds(),
		"before":  before,
		"rss":     rss,
		"live":    heap.HeapAlloc,
		"peak":    peak,
		"objects": len(informer.GetStore().ListKeys()),
		"digest":  fmt.Sprintf("%016x", digest),
	})
	fmt.Println(string(line))
	return err
}

// work takes keys until the queue is shut down and empty.
func work(queue workqueue.TypedRateLimitingInterface[string], pods cache.Indexer) {
	for {
		key, isOver := queue.Get()
		if isOver {
			return
		}
		pods.GetByKey(key)
		queue.Forget(key)
		queue.Done(key)
	}
}

// cpuTime is that of this process, user and system.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// status is a field of this process's status, which is in kilobytes, in bytes.
func status(field string) int {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), "\n"+field)
	line, _, _ := strings.Cut(rest, "\n")
	kilobytes, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(line, " kB")))
	return kilobytes * 1024
}
