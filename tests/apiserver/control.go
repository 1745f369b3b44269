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
		return "", p.admin.churn(words[1])
	case len(words) == 1 && words[0] == "rest":
		return "", p.admin.rest()
	case len(words) == 1 && words[0] == "kill":
		p.kill(kubeAPIServer)
		return "", nil
	case len(words) == 1 && words[0] == "start":
		return "", p.startAPIServer()
	case len(words) == 2 && words[0] == "kill" && words[1] == controllerManager:
		p.kill(controllerManager)
		return "", nil
	case len(words) == 2 && words[0] == "start" && words[1] == controllerManager:
		return "", p.startControllerManager()
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
