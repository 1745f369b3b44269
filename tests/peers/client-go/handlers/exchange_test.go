package handlers

import "time"

// Exchange is what a server answered to one informer, and what becomes of the informer's handlers meanwhile. Times
// count from the start.
type Exchange struct {
	// The collection: pods or configmaps, and its namespace; none for all of them.
	Resource, Namespace string
	// The informer's resync period, which its handlers have unless they name one.
	Resync time.Duration
	// In the order in which they are asked for.
	Steps    []Step
	Handlers []Handler
	// In the order of their times.
	Script []Act
}

// Step is a list with all of its pages, or a stream.
type Step struct {
	// "list", "watchlist" or "watch".
	Kind string
	// One for a stream.
	Answers []Answer
}

// Answer is an answer, piece by piece.
type Answer struct {
	// When its head comes.
	At time.Duration
	// 0 where there is no answer at all: the connection is refused.
	Status     int
	Type       string
	RetryAfter int
	Pieces     []Piece
	// "eof", "reset", or "open" where it has no end.
	End   string
	EndAt time.Duration
}

// Piece is what arrives at once.
type Piece struct {
	At   time.Duration
	Text string
	// In place of a text that is not UTF-8.
	Bytes []byte
}

// Handler is one to be registered.
type Handler struct {
	// Its own resync period; negative where it names none.
	Resync time.Duration
	// Objects whose label app has this value are filtered out; empty for no filter.
	Without string
}

// Act is what happens at a time, after everything that arrived until then.
type Act struct {
	// Negative for what is done before the informer starts.
	At time.Duration
	// "join" and "leave" for a handler; "look" notes which of them have synced.
	Do      string
	Handler int
}

// Told is what came of an exchange.
type Told struct {
	// By handler, what it was told.
	Handlers [][]Notification `json:"handlers"`
	// By look, and then by handler, whether it has synced: null where it is not registered.
	Synced [][]*bool `json:"synced"`
	// Each object of the store at the end, and its version.
	Store []string `json:"store"`
	// Requests that do not go with the steps.
	Confused []string `json:"confused"`
}

// Notification is what a handler is told.
type Notification struct {
	At    time.Duration `json:"at"`
	Event string        `json:"event"`
	Key   string        `json:"key"`
	State
	Old     *State `json:"old,omitempty"`
	Initial bool   `json:"initial,omitempty"`
	// The final state of what is gone is not known.
	Unknown bool `json:"unknown,omitempty"`
}

// State is which object it is, and which version of it.
type State struct {
	UID     string `json:"uid"`
	Version string `json:"rv"`
}
