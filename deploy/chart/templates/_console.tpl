{{- /* Name of the console's objects in each namespace. */ -}}
{{- define "earshot.consoleName" -}}
{{ include "earshot.name" . }}-console
{{- end -}}

{{- define "earshot.consoleSelector" -}}
app.kubernetes.io/name: earshot-console
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "earshot.consoleLabels" -}}
{{ include "earshot.consoleSelector" . }}
app.kubernetes.io/component: console
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- range $key, $value := omit .Values.labels "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart" }}
{{ $key }}: {{ $value | quote }}
{{- end -}}
{{- end -}}

{{- /* Namespaces with a console, as a list in YAML. */ -}}
{{- define "earshot.consoleNamespaces" -}}
{{- .Values.console.namespaces | default (list .Release.Namespace) | toJson -}}
{{- end -}}
