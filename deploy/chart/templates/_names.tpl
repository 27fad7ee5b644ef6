{{- /* The first part of all names. */ -}}
{{- define "earshot.name" -}}
{{- .Values.fullnameOverride | default (.Release.Name | trunc 40 | trimSuffix "-") -}}
{{- end -}}

{{- define "earshot.selector" -}}
app.kubernetes.io/name: earshot
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "earshot.labels" -}}
{{ include "earshot.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* A reference to an image, from {image, fallback}. */ -}}
{{- define "earshot.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .fallback }}
{{- end -}}
{{- end -}}

{{- /* What no container of Earshot may do. */ -}}
{{- define "earshot.locked" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}
