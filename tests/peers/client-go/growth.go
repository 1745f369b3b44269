package main

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// updates are measured at each number of objects.
const updates = 100_000

// growth does the work of ../../benches/beside/growth.rs and prints its lines: a number of objects, and the nanoseconds
// that an update takes through RealFIFO and into an indexer with two indexes.
func growth(sizes []string) error {
	for _, size := range sizes {
		objects, err := strconv.Atoi(size)
		if err != nil {
			return err
		}
		indexer := newIndexer()
		for n := range objects {
			indexer.Add(stateOf(n, 0))
		}
		queue := newQueue("by_arrival", indexer)
		var rounds []time.Duration
		for round := range 5 {
			states := make([]any, updates)
			for n := range states {
				states[n] = stateOf(n*7919%objects, int64(round+1))
			}
			runtime.GC()
			begun := time.Now()
			for _, state := range states {
				queue.Update(state)
				apply(queue, indexer)
			}
			rounds = append(rounds, time.Since(begun))
		}
		slices.Sort(rounds)
		fmt.Printf("%d\t%.1f\n", objects, float64(rounds[2].Nanoseconds())/updates)
	}
	return nil
}

// workers prints the nanoseconds that a key takes from one producer to eight workers, which do nothing.
func workers() {
	keys := make([]string, 1_000_000)
	for n := range keys {
		keys[n] = fmt.Sprintf("ns-%03d/pod-%07d", n%100, n)
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	indexer := newIndexer()
	var all sync.WaitGroup
	begun := time.Now()
	for range 8 {
		all.Go(func() { work(queue, indexer) })
	}
	for _, key := range keys {
		queue.Add(key)
	}
	queue.ShutDown()
	all.Wait()
	fmt.Printf("%.1f\n", float64(time.Since(begun).Nanoseconds())/float64(len(keys)))
}
