// Package handlers runs client-go's own shared informer over answers that were recorded, under virtual time, and notes
// what each of its handlers is told.
//
// `go test -c` makes a program of it, which has a test's bubbles: it reads exchanges from its standard input, and writes
// what came of each, a line of JSON each.
package handlers

import (
	"encoding/json"
	"io"
	"os"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	// client-go logs each failure, and remembers when the last one was, by the clock of another bubble.
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

func TestExchangesOfTheStandardInput(t *testing.T) {
	exchanges, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		exchange := new(Exchange)
		if err := exchanges.Decode(exchange); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			told, err := follow(exchange)
			if err != nil {
				t.Fatal(err)
			}
			if err := answers.Encode(told); err != nil {
				t.Fatal(err)
			}
		})
	}
}
