// A Kubernetes control plane for tests: etcd, kube-apiserver and the controller manager, on loopback ports of their own.
//
//	apiserver run DIR
//
// or, by hand and in the checkout, with an absolute path,
//
//	go run -C tests/apiserver -trimpath . run DIR
//
// writes certificates, logs and a kubeconfig into DIR, which must not be there or be empty, prints "ready KUBECONFIG" once
// the server answers, and then obeys the lines on its standard input (see control.go). It stops, and everything that it
// started with it, when its input ends. DIR/bin has kubectl for as long as it runs: this program under another name.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

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
	case "run":
		if len(args) != 1 {
			usage()
		}
		if err := run(args[0]); err != nil {
			fmt.Fprintln(os.Stderr, "apiserver:", err)
			os.Exit(1)
		}
	default:
		usage()
	}
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: apiserver run DIR")
	os.Exit(2)
}

func run(dir string) error {
	plane, err := newPlane(dir)
	if err != nil {
		return err
	}
	defer plane.stop()
	if err := plane.start(); err != nil {
		return err
	}
	fmt.Println("ready", plane.files.kubeconfig)
	return plane.obey(os.Stdin, os.Stdout)
}
