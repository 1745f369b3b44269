package handlers

import (
	"context"
	"math"
	"testing/synctest"
	"time"
)

// No time that comes.
const forever = time.Duration(math.MaxInt64)

// Where answers stop until all that belongs before them is done.
type gate struct {
	arrivals chan arrival
	// The one that waits.
	waiting *arrival
}

type arrival struct {
	at   time.Duration
	open chan struct{}
}

func newGate() gate {
	return gate{arrivals: make(chan arrival)}
}

// Waits before something that was recorded at this time; false where nobody waits for it any more.
func (g *gate) pass(ctx context.Context, at time.Duration) bool {
	here := arrival{at, make(chan struct{})}
	select {
	case g.arrivals <- here:
	case <-ctx.Done():
		return false
	}
	select {
	case <-here.open:
		return true
	case <-ctx.Done():
		return false
	}
}

// Lets everything happen that was recorded up to this time, and what follows from it.
func (g *gate) advance(begun time.Time, until time.Duration) {
	for {
		if g.waiting == nil {
			next := <-g.arrivals
			g.waiting = &next
		}
		if g.waiting.at > until {
			break
		}
		close(g.waiting.open)
		g.waiting = nil
	}
	time.Sleep(time.Until(begun.Add(until)))
	synctest.Wait()
}
