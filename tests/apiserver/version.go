package main

import (
	"runtime/debug"
	_ "unsafe" // for go:linkname

	"k8s.io/component-base/version"
)

// The version that kube-apiserver and kubectl tell. The build scripts of Kubernetes set it, and `go build` leaves a text
// there that kubectl cannot read.
//
//go:linkname gitVersion k8s.io/component-base/version.gitVersion
var gitVersion string

// It is that of the module that this program is built of.
func init() {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "k8s.io/kubernetes" {
				gitVersion = module.Version
			}
		}
	}
	check(version.SetDynamicVersion(gitVersion))
}
