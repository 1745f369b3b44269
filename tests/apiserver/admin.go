package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// How many requests are made at a time.
const writers = 8

// How many objects are there at most while they come and go.
const churned = 40

// Who makes the changes that the suites watch.
type admin struct {
	client *http.Client
	server string
	stop   context.CancelFunc
	done   chan struct{}
}

// Asks, and answers with status and body.
func (a *admin) ask(method, path, body string) (int, []byte, error) {
	request, err := http.NewRequest(method, a.server+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	answer, err := a.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	return answer.StatusCode, content, err
}

func (a *admin) request(method, path, body string) (string, error) {
	status, content, err := a.ask(method, path, body)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %s", status, bytes.ReplaceAll(content, []byte("\n"), []byte(" "))), nil
}

// What is known of an object without its kind.
type object struct {
	Metadata struct {
		Namespace, Name, UID, ResourceVersion string
	}
}

func (a *admin) list(path, file string) error {
	status, content, err := a.ask(http.MethodGet, path, "")
	if err != nil || status != http.StatusOK {
		return errors.Join(fmt.Errorf("list: status %d", status), err)
	}
	var list struct{ Items []object }
	if err := json.Unmarshal(content, &list); err != nil {
		return err
	}
	lines := make([]string, 0, len(list.Items))
	for _, item := range list.Items {
		key := strings.TrimPrefix(item.Metadata.Namespace+"/"+item.Metadata.Name, "/")
		lines = append(lines, fmt.Sprintf("%s %s %s\n", key, item.Metadata.UID, item.Metadata.ResourceVersion))
	}
	slices.Sort(lines)
	return os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600)
}

func (a *admin) fill(namespace string, count int) error {
	var group errgroup.Group
	group.SetLimit(writers)
	for number := range count {
		group.Go(func() error {
			status, content, err := a.ask(http.MethodPost, configMaps(namespace), configMap(fmt.Sprintf("filled-%05d", number), number))
			if err == nil && status != http.StatusCreated {
				err = fmt.Errorf("status %d: %s", status, content)
			}
			return err
		})
	}
	return group.Wait()
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
	status, _, _ := a.ask(method, path, body)
	return status
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
