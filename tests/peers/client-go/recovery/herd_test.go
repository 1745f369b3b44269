package recovery

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

const (
	herd = 1000
	// When the server is lost: after the delays of the start are forgotten, before the first watch ends by itself.
	lost = 4 * time.Minute
	// How long is waited for the last one.
	patience = 10 * time.Minute
)

func TestAThousandClientsThatLoseTheirServer(t *testing.T) {
	for _, outage := range []time.Duration{0, 2 * time.Second, 10 * time.Second, 90 * time.Second, 5 * time.Minute} {
		var peak, requests int
		var returns []time.Duration
		bubble(t, func(t *testing.T) { peak, requests, returns = loss(t, outage) })
		seconds := func(share float64) float64 {
			return returns[int(share*float64(len(returns)-1))].Seconds()
		}
		figures.note(t, "herd", fmt.Sprintf("%.0f", outage.Seconds()), []figure{
			{float64(peak), 0.4, 30}, {float64(requests), 0.1, 20},
			{seconds(0.5), 0.3, 3}, {seconds(0.9), 0.2, 3}, {seconds(1), 0.2, 5},
		}, "")
	}
}

// How many requests the server answers in the worst second after it is back, and in all until everybody is; and how
// long after it each client has a watch again.
func loss(t *testing.T, outage time.Duration) (peak, requests int, returns []time.Duration) {
	server := newServer()
	doors := followers(t, server, herd)
	time.Sleep(lost)
	synctest.Wait()
	takeAll(doors)
	server.become(state{refuses: outage > 0})
	server.breakStreams()
	if outage > 0 {
		time.Sleep(outage)
		server.become(state{})
	}
	back := time.Now()
	time.Sleep(patience)
	synctest.Wait()
	var accepted []time.Duration
	for _, seen := range takeAll(doors) {
		if len(seen.watches) == 0 {
			t.Fatal("somebody does not come back")
		}
		returns = append(returns, seen.watches[0].Sub(back))
		for _, moment := range seen.accepted {
			accepted = append(accepted, moment.Sub(back))
		}
	}
	slices.Sort(returns)
	seconds := map[int]int{}
	for _, moment := range accepted {
		if moment <= returns[len(returns)-1] {
			requests++
			seconds[int(moment.Seconds())]++
		}
	}
	for _, count := range seconds {
		peak = max(peak, count)
	}
	return peak, requests, returns
}
