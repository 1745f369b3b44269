package main

import (
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	stored     = 160_000
	namespaces = 16
	listing    = 80
	turns      = 5
	turn       = 2 * time.Second
)

// readers does the work of ../../benches/readers.rs and prints its lines: a way to list, and the medians of the writes
// and of the lists a second.
func readers() {
	indexer := newIndexer()
	for n := range stored {
		indexer.Add(stateOf(n, 0))
	}
	ways := []struct {
		name string
		read func([]any) int64
	}{{"listed", func(list []any) int64 { return int64(len(list)) }}, {"listed_and_read", sum}}
	for _, way := range ways {
		var writes, lists []float64
		for range turns {
			w, l := compete(indexer, way.read)
			writes, lists = append(writes, w), append(lists, l)
		}
		sort.Float64s(writes)
		sort.Float64s(lists)
		fmt.Printf("%s\t%.0f\t%.0f\n", way.name, writes[turns/2], lists[turns/2])
	}
}

func stateOf(n int, generation int64) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace:  fmt.Sprintf("ns-%03d", n%namespaces),
		Name:       fmt.Sprintf("pod-%07d", n),
		Generation: generation,
		Labels:     map[string]string{"app": fmt.Sprintf("a%d", n%1000)},
	}}
}

// sum reads one field of each object.
func sum(list []any) int64 {
	var sum int64
	for _, pod := range list {
		sum += pod.(*corev1.Pod).Generation
	}
	return sum
}

// compete tells how many writes and lists a second one writer and all readers manage.
func compete(indexer cache.Indexer, read func([]any) int64) (float64, float64) {
	var isOver atomic.Bool
	var lists, sums atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	for reader := range listing {
		all.Go(func() {
			namespace := fmt.Sprintf("ns-%03d", reader%namespaces)
			for !isOver.Load() {
				list, _ := indexer.ByIndex(cache.NamespaceIndex, namespace)
				sums.Add(read(list))
				lists.Add(1)
			}
		})
	}
	writes := 0
	for ; time.Since(begun) < turn; writes++ {
		indexer.Update(stateOf(writes*7919%stored, int64(writes)))
	}
	isOver.Store(true)
	all.Wait()
	seconds := time.Since(begun).Seconds()
	return float64(writes) / seconds, float64(lists.Load()) / seconds
}
