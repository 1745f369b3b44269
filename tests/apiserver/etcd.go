package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// The configuration of an etcd with its data in `dir`, for clients at `port`.
func etcdConfig(dir string, port int) *embed.Config {
	config := embed.NewConfig()
	config.Dir = filepath.Join(dir, etcd)
	config.LogLevel = "error"
	config.LogOutputs = []string{filepath.Join(dir, etcd+".log")}
	// What is stored need not outlive the machine. What is acknowledged outlives the process: it is in the kernel's cache.
	config.UnsafeNoFsync = true
	config.ListenPeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	client := url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	config.ListenClientUrls = []url.URL{client}
	config.AdvertiseClientUrls = []url.URL{client}
	return config
}

// Starts an etcd within this process.
func startEtcd(config *embed.Config) (*embed.Etcd, error) {
	started, err := embed.StartEtcd(config)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	select {
	case <-started.Server.ReadyNotify():
		return started, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("etcd does not start; see %s", config.LogOutputs[0])
	}
}

// The process of an etcd: its arguments are folder and port. It runs until it is killed.
func serveEtcd(args []string) error {
	if len(args) != 2 {
		return errors.New("etcd has a folder and a port")
	}
	port, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	started, err := startEtcd(etcdConfig(args[0], port))
	if err != nil {
		return err
	}
	return <-started.Err()
}

// Starts an etcd within this process, or as a process of its own, and waits until it answers.
func (p *plane) startEtcd() error {
	if !p.isKillable {
		started, err := startEtcd(etcdConfig(p.dir, p.etcdPort))
		p.embedded = started
		return err
	}
	if err := p.startChild(etcd, etcd, p.dir, strconv.Itoa(p.etcdPort)); err != nil {
		return err
	}
	return p.await(etcd, func() bool {
		client := http.Client{Timeout: time.Second}
		answer, err := client.Get(p.etcdURL() + "/health")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

func (p *plane) etcdURL() string {
	return fmt.Sprintf("http://127.0.0.1:%d", p.etcdPort)
}

// Forgets all history up to now: a watch from there is told 410.
func (p *plane) compact() error {
	now, err := p.askEtcd("range", `{"key": "bm93", "count_only": true}`)
	if err != nil {
		return err
	}
	_, err = p.askEtcd("compaction", fmt.Sprintf(`{"revision": %q, "physical": true}`, now))
	return err
}

// Sends a request to the key-value store and returns the revision of its answer.
func (p *plane) askEtcd(request, body string) (string, error) {
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Post(p.etcdURL()+"/v3/kv/"+request, "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("etcd answers %s to %s", answer.Status, request)
	}
	var said struct{ Header struct{ Revision string } }
	err = json.NewDecoder(answer.Body).Decode(&said)
	return said.Header.Revision, err
}
