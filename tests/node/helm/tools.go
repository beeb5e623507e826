// Package helm pins Helm, with the Kubernetes libraries of the control plane's version. `make cluster`
// builds it; nothing here is imported by anything.

//go:build tools

package helm

import (
	_ "helm.sh/helm/v3/cmd/helm"
)
