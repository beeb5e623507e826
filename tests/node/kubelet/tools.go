// Package kubelet pins the programs that make a control plane into a cluster with a node. `make
// cluster` builds them; nothing here is imported by anything. It is a module of its own, so that a
// control plane that is built already stays as it is.

//go:build tools

package kubelet

import (
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
