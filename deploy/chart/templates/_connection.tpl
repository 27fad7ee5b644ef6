{{- /* What every object of the connection half bears. Names of a contract: tools and scripts find the controller by them. */ -}}
{{- define "earshot.connectionSelector" -}}
application: {{ .Values.connection.name }}
{{- end -}}

{{- define "earshot.connectionOwnLabels" -}}
{{ include "earshot.connectionSelector" . }}
app.kubernetes.io/name: {{ .Values.connection.name }}
app.kubernetes.io/part-of: skupper
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "earshot.connectionLabels" -}}
{{- include "earshot.connectionLabelsWith" (dict "root" .) -}}
{{- end -}}

{{- /* The same with more of them, from {root, more}. */ -}}
{{- define "earshot.connectionLabelsWith" -}}
{{ include "earshot.connectionOwnLabels" .root }}
{{- $own := keys (include "earshot.connectionOwnLabels" .root | fromYaml) | concat (list "skupper.io/component" "app.kubernetes.io/component") -}}
{{- range $key, $value := mergeOverwrite (deepCopy .root.Values.labels) (.more | default dict) -}}
{{- if not (has $key $own) }}
{{ $key }}: {{ $value | quote }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The plurals of skupper.io. */ -}}
{{- define "earshot.siteKinds" -}}
- accessgrants
- accesstokens
- attachedconnectorbindings
- attachedconnectors
- certificates
- connectors
- links
- listeners
- multikeylisteners
- routeraccesses
- securedaccesses
- sites
{{- end -}}

{{- /* Fails where nothing, or not enough, is said of what to install. */ -}}
{{- define "earshot.checkHalves" -}}
{{- if not (or .Values.exposure.enabled .Values.connection.enabled) -}}
{{- fail "exposure.enabled and connection.enabled are both false: nothing would be installed" -}}
{{- end -}}
{{- if and .Values.connection.enabled (not (hasKey .Values.connection "scope")) -}}
{{- fail "connection.scope is missing: this release is older than its values, so upgrade it with --reset-then-reuse-values in place of --reuse-values" -}}
{{- end -}}
{{- include "earshot.checkAccess" . -}}
{{- end -}}

{{- /* Fails where the controller would not start. Flags of one's own may say otherwise. */ -}}
{{- define "earshot.checkAccess" -}}
{{- if and .Values.connection.enabled (not .Values.connection.extraArgs) -}}
{{- $enabled := splitList "," (include "earshot.commaList" .Values.connection.enabledAccessTypes) -}}
{{- $usual := .Values.connection.defaultAccessType -}}
{{- if and $usual (not (hasPrefix "listenerclass:" $usual)) (not (has $usual $enabled)) -}}
{{- fail (printf "connection.defaultAccessType is %q, which connection.enabledAccessTypes does not enable: %s" $usual (join ", " $enabled)) -}}
{{- end -}}
{{- if and (has "nodeport" $enabled) (not .Values.connection.clusterHost) -}}
{{- fail "connection.enabledAccessTypes has nodeport, which needs connection.clusterHost" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /*
Whether access by ListenerClasses is possible: this release brings them, or the cluster has them already.
*/ -}}
{{- define "earshot.hasListenerClasses" -}}
{{- if or .Values.exposure.enabled (.Capabilities.APIVersions.Has "listeners.stackable.tech/v1alpha1") -}}
yes
{{- end -}}
{{- end -}}

{{- /* By comma, from a list or a text. */ -}}
{{- define "earshot.commaList" -}}
{{- if kindIs "string" . }}{{ . }}{{ else }}{{ join "," . }}{{ end -}}
{{- end -}}
