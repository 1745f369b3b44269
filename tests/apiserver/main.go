// A Kubernetes control plane for tests: etcd, kube-apiserver and the controller manager, on loopback ports of their own.
//
//	apiserver run DIR [SERVERS]
//
// or, by hand and in the checkout, with an absolute path,
//
//	go run -C tests/apiserver -trimpath . run DIR
//
// writes certificates, logs and a kubeconfig into DIR, which must not be there or be empty, prints "ready KUBECONFIG" once
// the server answers, and then obeys the lines on its standard input (see control.go). It stops, and everything that it
// started with it, when its input ends. DIR/bin has kubectl for as long as it runs: this program under another name.
//
// With a number of servers, so many kube-apiservers share an etcd that is a process of its own. Then the line is
// "ready KUBECONFIG PORT..." with the ports of all, the kubeconfig names the first one, server N logs its writes into
// audit-N.log, and the controller manager waits for its order to start.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	kubectlcommand "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	kubeapiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func init() {
	// Children are told to die with the thread that started them: the main one, which ends with the process.
	runtime.LockOSThread()
}

func main() {
	if filepath.Base(os.Args[0]) == kubectl {
		util.CheckErr(cli.RunNoErrOutput(kubectlcommand.NewDefaultKubectlCommand()))
		return
	}
	if len(os.Args) < 2 {
		usage()
	}
	command, args := os.Args[1], os.Args[2:]
	switch command {
	case kubeAPIServer:
		component := kubeapiserver.NewAPIServerCommand()
		component.SetArgs(args)
		os.Exit(cli.Run(component))
	case controllerManager:
		component := controllermanager.NewControllerManagerCommand()
		component.SetArgs(args)
		os.Exit(cli.Run(component))
	case etcd:
		check(serveEtcd(args))
	case "run":
		check(run(args))
	default:
		usage()
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: apiserver run DIR [SERVERS]")
	os.Exit(2)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "apiserver:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	servers, err := 1, error(nil)
	switch len(args) {
	case 1:
	case 2:
		if servers, err = strconv.Atoi(args[1]); err != nil || servers < 1 || servers > mostServers {
			usage()
		}
	default:
		usage()
	}
	plane, err := newPlane(args[0], servers, len(args) == 2)
	if err != nil {
		return err
	}
	defer plane.stop()
	if err := plane.start(); err != nil {
		return err
	}
	fmt.Println(plane.greeting())
	return plane.obey(os.Stdin, os.Stdout)
}
