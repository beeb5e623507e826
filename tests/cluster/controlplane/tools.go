// Package controlplane pins the programs of a Kubernetes control plane that the tests of
// kron-operator run against. `make cluster` builds them; nothing here is imported by anything.

//go:build tools

package controlplane

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
