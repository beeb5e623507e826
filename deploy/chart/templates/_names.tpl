{{/* All objects have the release's name, shortened to what a label allows. */}}
{{- define "kron.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "kron.serviceAccount" -}}
{{- $account := .Values.serviceAccount -}}
{{- if not (or $account.create $account.name) -}}
{{- fail "serviceAccount.create is false, so serviceAccount.name must name an account that exists" -}}
{{- end -}}
{{- $account.name | default (include "kron.name" .) -}}
{{- end -}}

{{- define "kron.lease" -}}
{{- .Values.lease.name | default (include "kron.name" .) -}}
{{- end -}}

{{- define "kron.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* What selects the Pods: never changes, since a Deployment's selector cannot. */}}
{{- define "kron.selector" -}}
app.kubernetes.io/name: kron-operator
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "kron.labels" -}}
{{ include "kron.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* These labels and those of a value, which win: (list $ .labels). */}}
{{- define "kron.labelsWith" -}}
{{- $more := index . 1 | default dict | deepCopy -}}
{{- merge $more (include "kron.labels" (index . 0) | fromYaml) | toYaml -}}
{{- end -}}

{{/* What annotations say to a Prometheus that finds its targets by them. */}}
{{- define "kron.scraped" -}}
prometheus.io/scrape: "true"
prometheus.io/port: {{ .Values.metrics.port | quote }}
prometheus.io/path: /metrics
{{- end -}}

{{/* Where it listens, HOST:PORT. */}}
{{- define "kron.http" -}}
{{- $address := .Values.metrics.address -}}
{{- contains ":" $address | ternary (printf "[%s]" $address) $address }}:{{ int .Values.metrics.port }}
{{- end -}}
