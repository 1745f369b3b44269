package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// How many objects are there at most while they come and go.
const churned = 40

// Who makes the changes that the suites watch.
type admin struct {
	client *http.Client
	server string
	stop   context.CancelFunc
	done   chan struct{}
}

// Asks, and returns the status; zero where nobody answers.
func (a *admin) ask(method, path, body string) int {
	request, err := http.NewRequest(method, a.server+path, strings.NewReader(body))
	if err != nil {
		return 0
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := a.client.Do(request)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	// Who has read everything can use the connection again.
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

func (a *admin) churn(namespace string) error {
	if a.done != nil {
		return errors.New("there is churn already")
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.stop, a.done = cancel, make(chan struct{})
	go func() {
		defer close(a.done)
		for number := 0; ctx.Err() == nil; number++ {
			if status := a.change(namespace, number); status == 0 {
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	return nil
}

// Changes something, and returns the status; zero where nobody answers.
func (a *admin) change(namespace string, number int) int {
	name := fmt.Sprintf("churned-%02d", rand.IntN(churned))
	body := configMap(name, number)
	method, path := http.MethodPost, configMaps(namespace)
	switch rand.IntN(3) {
	case 0:
		method, path = http.MethodPut, path+"/"+name
	case 1:
		method, path, body = http.MethodDelete, path+"/"+name, ""
	}
	return a.ask(method, path, body)
}

func (a *admin) rest() error {
	if a.done == nil {
		return errors.New("there is no churn")
	}
	a.stop()
	<-a.done
	a.done = nil
	return nil
}

func configMaps(namespace string) string {
	return "/api/v1/namespaces/" + namespace + "/configmaps"
}

func configMap(name string, number int) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"parity":"%d"}},"data":{"number":"%d"}}`, name, number%2, number)
}
