{{- define "chain-metrics.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- /* Name prefix of every object. 40 characters leave room for a role and a follower. */}}
{{- define "chain-metrics.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains (include "chain-metrics.name" .) .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "chain-metrics.name" .) | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* Selector labels. Arguments: root, and component if the object belongs to one. */}}
{{- define "chain-metrics.selector" -}}
app.kubernetes.io/name: {{ include "chain-metrics.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "chain-metrics.labels" -}}
{{ include "chain-metrics.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "chain-metrics.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "chain-metrics.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "chain-metrics.fullname" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{- /* A value as text of the environment. Helm reads numbers as floats, and would write 33554432 as 3.3554432e+07. */}}
{{- define "chain-metrics.text" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- /* PUBLIC_URL, derived from the Ingress. */}}
{{- define "chain-metrics.publicUrl" -}}
{{ ternary "https" "http" (ne .Values.ingress.tlsSecret "") }}://{{ .Values.ingress.host }}
{{- end }}

{{- /*
The settings of a role, as YAML. Settings of the role override those of all roles, and settings of the chart override both.
Arguments: root, own (the values of the role), decided (settings of the chart).
*/}}
{{- define "chain-metrics.settings" -}}
{{- $values := .root.Values }}
{{- $settings := dict }}
{{- if $values.ingress.enabled }}
{{- $settings = dict "PUBLIC_URL" (include "chain-metrics.publicUrl" .root) "TRUST_PROXY" $values.ingress.trustProxy }}
{{- end }}
{{- $settings = mergeOverwrite $settings (deepCopy $values.settings) (deepCopy (default dict .own.settings)) }}
{{- $settings = mergeOverwrite $settings (default dict .decided) }}
{{- if $values.secrets.REDIS_URL }}{{ $settings = omit $settings "REDIS_URL" }}{{ end }}
{{- toYaml $settings }}
{{- end }}

{{- /* The secrets of a component, as YAML. Only servers get SECRETS_KEY. Arguments: root, component. */}}
{{- define "chain-metrics.secrets" -}}
{{- $secrets := dict }}
{{- range $name, $of := .root.Values.secrets }}
{{- if and $of (or (ne $name "SECRETS_KEY") (eq $.component "serve")) }}
{{- $secrets = set $secrets $name (dict "name" $of.name "key" ($of.key | default $name)) }}
{{- end }}
{{- end }}
{{- toYaml $secrets }}
{{- end }}
