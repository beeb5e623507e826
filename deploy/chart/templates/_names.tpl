{{/* Everything is called like the release, shortened to what a label allows. */}}
{{- define "kron.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "kron.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "kron.name" .) -}}
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
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kron.labels" -}}
{{ include "kron.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

