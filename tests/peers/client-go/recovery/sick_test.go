// What client-go's informers ask of a server that is sick, and how they come back to it: client-go itself, under the
// virtual time of testing/synctest, with nothing replaced but the transport.
//
//	go test ./recovery           compares what comes out with figures.tsv
//	go test ./recovery -update   writes it there
package recovery

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// How many clients the figures of a state are the mean of. Where nothing but its own rate limit slows client-go down,
// they are all alike, and many.
const (
	patients = 20
	hasty    = 2
)

// What a server does for an hour.
var states = []struct {
	name    string
	state   state
	clients int
}{
	{"401", state{status: 401}, patients},
	{"403", state{status: 403}, patients},
	{"404", state{status: 404}, patients},
	{"429", state{status: 429}, patients},
	{"429, Retry-After: 1", state{status: 429, retryAfter: 1}, hasty},
	{"429, Retry-After: 7", state{status: 429, retryAfter: 7}, hasty},
	{"500", state{status: 500}, patients},
	{"503", state{status: 503}, patients},
	{"503, Retry-After: 1", state{status: 503, retryAfter: 1}, hasty},
	{"504", state{status: 504}, patients},
	{"refused", state{refuses: true}, patients},
	{"403 to watches", state{status: 403, watchesOnly: true}, patients},
	{"429 to watches", state{status: 429, watchesOnly: true}, patients},
	{"500 to watches", state{status: 500, watchesOnly: true}, patients},
	{"503 to watches", state{status: 503, watchesOnly: true}, patients},
}

func TestAServerThatIsSickForAnHour(t *testing.T) {
	for _, sick := range states {
		for _, healthy := range []time.Duration{0, time.Hour} {
			requests, refused := 0, 0
			least, most := 1<<30, 0
			bubble(t, func(t *testing.T) {
				for _, seen := range sickHour(t, sick.state, healthy, sick.clients) {
					count := len(seen.accepted)
					requests, refused = requests+count, refused+seen.refused
					least, most = min(least, count), max(most, count)
				}
			})
			since := "start"
			if healthy > 0 {
				since = "later"
			}
			figures.note(t, "sick", sick.name+"\t"+since, []figure{
				{float64(requests) / float64(sick.clients), 0.05, 3}, {float64(refused) / float64(sick.clients), 0.05, 3},
			}, fmt.Sprintf("%d\t%d", least, most))
		}
	}
}

// What goes through each client's door within an hour of sickness, which begins after a healthy time.
func sickHour(t *testing.T, state state, healthy time.Duration, clients int) []seen {
	server := newServer()
	if healthy == 0 {
		server.become(state)
	}
	doors := followers(t, server, clients)
	time.Sleep(healthy)
	synctest.Wait()
	if healthy > 0 {
		takeAll(doors)
		server.become(state)
		server.breakStreams()
	}
	time.Sleep(time.Hour)
	synctest.Wait()
	return takeAll(doors)
}

func takeAll(doors []*door) []seen {
	all := make([]seen, len(doors))
	for number, door := range doors {
		all[number] = door.take()
	}
	return all
}
