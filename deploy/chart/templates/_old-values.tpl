{{- /*
Values by the names that the charts of the listener-operator and of Skupper give them. Each is taken as what it is called here, and NOTES.txt
says so; docs/from-listener-operator.md and docs/from-skupper.md have the same lists for people. A value that is empty there counts as left out.
*/ -}}

{{- define "earshot.oldNames" -}}
image.pullSecrets: imagePullSecrets
csiProvisioner.podAnnotations: controller.podAnnotations
csiProvisioner.nodeSelector: controller.nodeSelector
csiProvisioner.tolerations: controller.tolerations
csiProvisioner.affinity: controller.affinity
csiProvisioner.priorityClassName: controller.priorityClassName
csiProvisioner.controllerService.resources: controller.resources
csiProvisioner.externalProvisioner.resources: provisioner.resources
csiNodeDriver.podAnnotations: node.podAnnotations
csiNodeDriver.nodeSelector: node.nodeSelector
csiNodeDriver.tolerations: node.tolerations
csiNodeDriver.affinity: node.affinity
csiNodeDriver.priorityClassName: node.priorityClassName
csiNodeDriver.nodeService.resources: node.resources
csiNodeDriver.nodeService.securityContext.seLinuxOptions: node.seLinuxOptions
kubernetesClusterDomain: clusterDomain
maintenance.customResourceDefinitions.maintain: manageCrds
telemetry.consoleLog.level: logLevel
scope: connection.scope
clusterHost: connection.clusterHost
enabledAccessTypes: connection.enabledAccessTypes
defaultAccessType: connection.defaultAccessType
{{- end -}}

{{- /* What is accepted and has no meaning here, with the reason. */ -}}
{{- define "earshot.oldUnused" -}}
controllerImage: controller and routers are one image, image.repository
kubeAdaptorImage: a router's pod has one container
routerImage: routers are of the same image as the controller; connection.routerImage names another of Earshot's
csiProvisioner.priority: it follows from controller.priorityClassName
csiProvisioner.preemptionPolicy: it follows from controller.priorityClassName
csiProvisioner.podSecurityContext: the chart's own is narrower
csiProvisioner.controllerService.securityContext: the chart's own is narrower
csiProvisioner.externalProvisioner.securityContext: the chart's own is narrower
csiProvisioner.externalProvisioner.image: the controller makes volumes itself, and with provisioner.sidecar it is provisioner.image, in a version that this chart knows
csiNodeDriver.priority: it follows from node.priorityClassName
csiNodeDriver.preemptionPolicy: it follows from node.priorityClassName
csiNodeDriver.podSecurityContext: the chart's own is narrower
csiNodeDriver.nodeService.securityContext: the chart's own is narrower; only its seLinuxOptions are taken
csiNodeDriver.nodeDriverRegistrar: the driver registers itself
csiNodeDriver.nodeRegistrar: the driver registers itself
maintenance.endOfSupportCheck.enabled: there is no such check
telemetry.consoleLog.format: logs are JSON lines
telemetry.fileLog.enabled: logs go to standard output only
telemetry.otelLogExporter.enabled: logs go to standard output only
telemetry.otelTraceExporter.enabled: there are no traces
{{- end -}}

{{- /* The value at a path, from {values, path}, as JSON; nothing where it is empty. False is not. */ -}}
{{- define "earshot.at" -}}
{{- $at := .values -}}
{{- range splitList "." .path -}}
{{- if kindIs "map" $at -}}{{- $at = get $at . -}}{{- else -}}{{- $at = "" -}}{{- end -}}
{{- end -}}
{{- $json := toJson $at -}}
{{- if not (has $json (list "null" "\"\"" "{}" "[]")) -}}
{{- $json -}}
{{- end -}}
{{- end -}}

{{- /*
Puts what has an old name where templates look for it. Each template begins with it, since none knows which is rendered first; done twice
it changes nothing more.
*/ -}}
{{- define "earshot.takeOldValues" -}}
{{- $root := . -}}
{{- /* Values of a release that was made before there were these, where it is upgraded with --reuse-values. */ -}}
{{- $account := dict "create" true "name" "" "annotations" dict -}}
{{- $halves := list (dict "enabled" true) (dict "enabled" false) -}}
{{- range $name, $default := dict "labels" dict "serviceAccount" $account "resourceQuota" (dict "enabled" true) "exposure" (index $halves 0) "connection" (index $halves 1) -}}
{{- if not (hasKey $root.Values $name) -}}{{- $_ := set $root.Values $name $default -}}{{- end -}}
{{- end -}}
{{- $_ := set .Values.provisioner "sidecar" (.Values.provisioner.sidecar | default false) -}}
{{- range $old, $new := include "earshot.oldNames" . | fromYaml -}}
{{- $given := include "earshot.at" (dict "values" $root.Values "path" $old) -}}
{{- if $given -}}
{{- $value := mustFromJson $given -}}
{{- $path := splitList "." $new -}}
{{- $into := $root.Values -}}
{{- range initial $path -}}{{- $into = get $into . -}}{{- end -}}
{{- $name := last $path -}}
{{- $own := get $into $name -}}
{{- if eq $name "logLevel" -}}
{{- $value = has (lower $value) (list "trace" "debug" "info" "warn" "error") | ternary (lower $value) $own -}}
{{- else if kindIs "map" $value -}}
{{- $value = mergeOverwrite (deepCopy $own) $value -}}
{{- end -}}
{{- if eq $name "resources" -}}
{{- /* Measured for another program: with less memory than the chart's own limit, this one might be killed. */ -}}
{{- $limit := dig "limits" "memory" "" $own -}}
{{- if and $limit (lt (include "earshot.bytes" (dig "limits" "memory" $limit $value) | float64) (include "earshot.bytes" $limit | float64)) -}}
{{- $_ := set $value.limits "memory" $limit -}}
{{- end -}}
{{- end -}}
{{- $_ := set $into $name $value -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* A quantity of memory as a number. */ -}}
{{- define "earshot.bytes" -}}
{{- $units := dict "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 -}}
{{- $number := regexFind "^[0-9.]+([eE][+-]?[0-9]+)?" (toString .) -}}
{{- mulf (float64 $number) (get $units (trimPrefix $number (toString .)) | default 1) -}}
{{- end -}}

{{- /*
Says something where a repository is one of the other program's images, or the folder of them, which that chart's `image.repository` is:
Earshot's image is not there.
*/ -}}
{{- define "earshot.isForeignImage" -}}
{{- if regexMatch "(^|[./])stackable\\.tech(:[0-9]+)?/|(^|/)(sdp|stackable|listener-operator)$" . -}}
yes
{{- end -}}
{{- end -}}

{{- /* A line for each old name in use. */ -}}
{{- define "earshot.oldNotes" -}}
{{- $values := .Values -}}
{{- range $old, $new := include "earshot.oldNames" . | fromYaml }}
{{- if include "earshot.at" (dict "values" $values "path" $old) }}
  {{ $old }} is now {{ $new }}
{{- end }}
{{- end }}
{{- range $old, $why := include "earshot.oldUnused" . | fromYaml }}
{{- $given := include "earshot.at" (dict "values" $values "path" $old) }}
{{- if and $given (ne $given "false") }}
  {{ $old }} has no effect: {{ $why }}
{{- end }}
{{- end }}
{{- if eq (include "earshot.at" (dict "values" $values "path" "telemetry.consoleLog.enabled")) "false" }}
  telemetry.consoleLog.enabled has no effect: logs always go to standard output
{{- end }}
{{- if include "earshot.isForeignImage" $values.image.repository }}
  image.repository {{ $values.image.repository }} is not where Earshot's image is: the image is localhost/earshot:{{ .Chart.AppVersion }} until you name yours
{{- end }}
{{- with $values.serviceAccount.name }}
  serviceAccount.name is the first part of two names, {{ . }}-controller and {{ . }}-node, since their rights differ
  {{- if not $values.serviceAccount.create }}; make both{{ end }}
{{- end }}
{{- end -}}
