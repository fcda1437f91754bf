{{- define "chain-metrics.secretsFolder" -}}/etc/chain-metrics/secrets{{- end }}
{{- define "chain-metrics.chainsFolder" -}}/etc/chain-metrics/chains{{- end }}

{{- /* The container without probes. Arguments: root, component, own, decided, args. */}}
{{- define "chain-metrics.container" -}}
name: {{ .component }}
image: {{ include "chain-metrics.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: {{ toJson .args }}
env:
  {{- range $name, $value := include "chain-metrics.settings" . | fromYaml }}
  {{- if not (kindIs "invalid" $value) }}
  - { name: {{ $name }}, value: {{ include "chain-metrics.text" $value | quote }} }
  {{- end }}
  {{- end }}
  {{- range $name, $_ := include "chain-metrics.secrets" . | fromYaml }}
  {{- /* A setting that names a file is set to the path; for others NAME_FILE is set. */}}
  {{- $isFile := or (hasSuffix "_FILE" $name) (eq $name "NODE_EXTRA_CA_CERTS") }}
  - { name: {{ ternary $name (printf "%s_FILE" $name) $isFile }}, value: {{ include "chain-metrics.secretsFolder" $ }}/{{ $name }} }
  {{- end }}
securityContext: {{- toYaml .root.Values.securityContext | nindent 2 }}
resources: {{- toYaml .own.resources | nindent 2 }}
volumeMounts:
  - { name: data, mountPath: /data }
  - { name: tmp, mountPath: /tmp }
  - { name: secrets, mountPath: {{ include "chain-metrics.secretsFolder" . }}, readOnly: true }
  {{- if hasKey .decided "CHAINS_FILE" }}
  - { name: chains, mountPath: {{ include "chain-metrics.chainsFolder" . }}, readOnly: true }
  {{- end }}
{{- end }}

{{- /* Common fields of all pods. Arguments: root, component, decided. */}}
{{- define "chain-metrics.pod" -}}
{{- $values := .root.Values }}
automountServiceAccountToken: false
# Variables of other Services could be mistaken for settings.
enableServiceLinks: false
securityContext: {{- toYaml $values.podSecurityContext | nindent 2 }}
{{- with $values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - { name: data, emptyDir: { sizeLimit: {{ $values.scratchSize }} } }
  - { name: tmp, emptyDir: { sizeLimit: {{ $values.scratchSize }} } }
  - name: secrets
    projected:
      defaultMode: 0440
      sources:
        {{- range $name, $of := include "chain-metrics.secrets" . | fromYaml }}
        - secret: { name: {{ $of.name }}, items: [{ key: {{ $of.key }}, path: {{ $name }} }] }
        {{- else }}
        []
        {{- end }}
  {{- if hasKey .decided "CHAINS_FILE" }}
  - { name: chains, configMap: { name: {{ include "chain-metrics.fullname" .root }}-chains } }
  {{- end }}
{{- end }}

{{- /* A Deployment of a role. Arguments: root, role, own (its values), and follower and follow for a follower. */}}
{{- define "chain-metrics.deployment" -}}
{{- $values := .root.Values }}
{{- $decided := dict "MIGRATE_ON_START" (not $values.migration.enabled) }}
{{- if $values.chains }}
{{- $decided = set $decided "CHAINS_FILE" (printf "%s/chains.json" (include "chain-metrics.chainsFolder" .)) }}
{{- end }}
{{- if .follow }}{{ $decided = set $decided "FOLLOW" .follow }}{{ end }}
{{- $of := dict "root" .root "component" .role "own" .own "decided" $decided "args" (list "start" "--role" .role) }}
{{- $settings := include "chain-metrics.settings" $of | fromYaml }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "chain-metrics.fullname" .root }}-{{ .role }}{{ with .follower }}-{{ . }}{{ end }}
  labels: {{- include "chain-metrics.labels" $of | nindent 4 }}
spec:
  {{- if eq (dig "autoscaling" "by" "none" .own) "none" }}
  replicas: {{ .own.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  strategy:
    {{- if eq .role "ingest" }}
    # Recreate, since the next process can follow a chain only once the lease is free.
    type: Recreate
    {{- else }}
    type: RollingUpdate
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
    {{- end }}
  selector:
    matchLabels:
      {{- include "chain-metrics.selector" $of | nindent 6 }}
      {{- with .follower }}
      follower: {{ . }}
      {{- end }}
  template:
    metadata:
      labels:
        {{- include "chain-metrics.labels" $of | nindent 8 }}
        {{- with .follower }}
        follower: {{ . }}
        {{- end }}
        {{- with $values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        kubectl.kubernetes.io/default-container: {{ .role }}
        {{- with $values.chains }}
        checksum/chains: {{ toJson . | sha256sum }}
        {{- end }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "chain-metrics.serviceAccount" .root }}
      # Longer than a stop can take, including its delay.
      terminationGracePeriodSeconds: {{ add (int $settings.STOP_SECONDS_MAX) (int $settings.STOP_DELAY_SECONDS) 5 }}
      {{- include "chain-metrics.pod" $of | nindent 6 }}
      {{- with $values.topologySpread }}
      topologySpreadConstraints:
        {{- range . }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "chain-metrics.selector" $of | nindent 14 }}
          {{- if ne $of.component "ingest" }}
          matchLabelKeys: [pod-template-hash]
          {{- end }}
        {{- end }}
      {{- end }}
      containers:
        - {{- include "chain-metrics.container" $of | nindent 10 }}
          ports:
            {{- if eq .role "serve" }}
            - { name: http, containerPort: 3000 }
            {{- end }}
            - { name: operator, containerPort: 9464 }
          # A start waits SERVICE_WAIT_SECONDS for its services; everything else gets a minute.
          startupProbe:
            httpGet: { path: /health/startup, port: operator }
            periodSeconds: 5
            timeoutSeconds: 6
            failureThreshold: {{ add 12 (div (add (int $settings.SERVICE_WAIT_SECONDS) 4) 5) }}
          # A busy process gets a minute. The probe checks no other service, since a restart would not help.
          livenessProbe:
            httpGet: { path: /health/live, port: operator }
            periodSeconds: 10
            timeoutSeconds: 10
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: /health/ready, port: operator }
            periodSeconds: 5
            timeoutSeconds: 6
            failureThreshold: 2
{{- end }}
