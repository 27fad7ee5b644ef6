{{- /* The first part of all names. */ -}}
{{- define "earshot.name" -}}
{{- $given := .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if and $given (not (contains $given .Release.Name)) -}}
{{- printf "%s-%s" .Release.Name $given | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /*
The service account of a component, from (list . "controller"). There are always two: were they one, a node's token could do
what only the controller may.
*/ -}}
{{- define "earshot.account" -}}
{{- $root := first . -}}
{{- printf "%s-%s" ($root.Values.serviceAccount.name | default (include "earshot.name" $root)) (last .) -}}
{{- end -}}

{{- define "earshot.selector" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default "earshot" }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "earshot.ownLabels" -}}
{{ include "earshot.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* The labels of an object. */ -}}
{{- define "earshot.labels" -}}
{{- include "earshot.labelsWith" (dict "root" .) -}}
{{- end -}}

{{- /* The same with more of them, from {root, more}: a label that several give is there once, and the chart's own are what they are. */ -}}
{{- define "earshot.labelsWith" -}}
{{ include "earshot.ownLabels" .root }}
{{- $own := keys (include "earshot.ownLabels" .root | fromYaml) | concat (list "app.kubernetes.io/component") -}}
{{- range $key, $value := mergeOverwrite (deepCopy .root.Values.labels) (.more | default dict) -}}
{{- if not (has $key $own) }}
{{ $key }}: {{ $value | quote }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* A reference to an image, from {image, fallback}. */ -}}
{{- define "earshot.image" -}}
{{- if include "earshot.isForeignImage" .image.repository -}}
localhost/earshot:{{ .fallback }}
{{- else if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .fallback }}
{{- end -}}
{{- end -}}

{{- /* Annotations of an object of `helm test`, from its weight: lower ones are created first. */ -}}
{{- define "earshot.testHook" -}}
helm.sh/hook: test
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{- /* What no container of Earshot may do. */ -}}
{{- define "earshot.locked" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* Where the driver may run: nodes that another program only plays have no kubelet whose folders it could use. */ -}}
{{- define "earshot.nodeAffinity" -}}
{{- $affinity := deepCopy .Values.node.affinity -}}
{{- $real := dict "key" "type" "operator" "NotIn" "values" (list "virtual-kubelet") -}}
{{- $terms := list -}}
{{- range dig "nodeAffinity" "requiredDuringSchedulingIgnoredDuringExecution" "nodeSelectorTerms" (list) $affinity | default (list dict) -}}
{{- /* One term is enough for a node, so each of them has to say it. */ -}}
{{- $terms = append $terms (set (deepCopy .) "matchExpressions" (append (.matchExpressions | default list) $real)) -}}
{{- end -}}
{{- $required := dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms) -}}
{{- toYaml (mergeOverwrite $affinity (dict "nodeAffinity" $required)) -}}
{{- end -}}
