package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Does what the lines of `in` say, one after the other, and answers each with one line: "ok", "ok" and what was asked for,
// or "error" and why.
//
//	kill                          ends kube-apiserver as a crash would
//	start                         starts it again, and waits until it is ready
//	kill etcd|N                   ends etcd, or the server of this number, as a crash would
//	stop N                        asks the server of this number to end, and waits until it has
//	start etcd|N                  starts it again, and waits until it is ready
//	heal                          starts etcd and the servers that have ended, waits until all are ready, tells how many
//	kill kube-controller-manager  ends the controller manager
//	start kube-controller-manager starts it again
//	audit on|off                  from the next start of kube-apiserver on, logs each write into audit.log, or no longer
//	compact                       forgets the history in etcd up to now
//	token NAMESPACE NAME UID SECONDS   a token of that service account that expires after so many seconds
//	churn NAMESPACE               begins to create, change and delete ConfigMaps, whatever becomes of the server
//	rest                          ends that
func (p *plane) obey(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer, err := p.command(strings.Fields(lines.Text()))
		if err != nil {
			answer = "error " + strings.ReplaceAll(err.Error(), "\n", " ")
		} else {
			answer = strings.TrimSpace("ok " + answer)
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (p *plane) command(words []string) (string, error) {
	switch {
	case len(words) == 2 && words[0] == "churn":
		return "", p.servers[0].admin.churn(words[1])
	case len(words) == 1 && words[0] == "rest":
		return "", p.servers[0].admin.rest()
	case len(words) == 1 && words[0] == "heal":
		started, err := p.heal()
		return strconv.Itoa(started), err
	case len(words) == 1 && (words[0] == "kill" || words[0] == "start"):
		return "", p.change(words[0], p.servers[0].name)
	case len(words) == 2 && (words[0] == "kill" || words[0] == "stop" || words[0] == "start"):
		return "", p.change(words[0], words[1])
	case len(words) == 2 && words[0] == "audit" && (words[1] == "on" || words[1] == "off"):
		p.audited = words[1] == "on"
		return "", nil
	case len(words) == 1 && words[0] == "compact":
		return "", p.compact()
	case len(words) == 5 && words[0] == "token":
		seconds, err := strconv.Atoi(words[4])
		if err != nil {
			return "", err
		}
		account := account{namespace: words[1], name: words[2], uid: words[3]}
		return p.files.token(account, time.Duration(seconds)*time.Second)
	default:
		return "", fmt.Errorf("%q is no order", strings.Join(words, " "))
	}
}

// Ends or starts a component: the controller manager, etcd as a process of its own, or a server by name or number.
func (p *plane) change(order, name string) error {
	start := map[string]func() error{controllerManager: p.startControllerManager}
	if p.isKillable {
		start[etcd] = p.startEtcd
	}
	for number, server := range p.servers {
		start[server.name] = func() error { return p.startAPIServer(server) }
		if name == strconv.Itoa(number+1) {
			name = server.name
		}
	}
	switch {
	case start[name] == nil:
		return fmt.Errorf("there is no %q to %s", name, order)
	case order == "start":
		return start[name]()
	case order == "stop":
		p.terminate(name)
	default:
		p.kill(name)
	}
	return nil
}
