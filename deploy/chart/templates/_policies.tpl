{{- /*
What the admission policies of all three accounts share. A policy is asked after every mutating policy and webhook, so it sees what others
added too. The API server records managed fields before those run: a field that no entry names was added by admission, and is no business of
these policies. docs/adr/0021-admission-of-others.md has the reasons.
*/ -}}

{{- /* The beginning of a policy, from {name, labels, condition, accounts}. */ -}}
{{- define "earshot.policy" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ .name }}
  labels:
    {{- .labels | nindent 4 }}
spec:
  # Decided inside the API server: no webhook can be unreachable. What cannot be decided is refused.
  failurePolicy: Fail
  matchConditions:
    - name: {{ .condition }}
      expression: request.userInfo.username == {{ .account | quote }}
{{- end -}}

{{- define "earshot.policyBinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels:
    {{- .labels | nindent 4 }}
spec:
  policyName: {{ .name }}
  {{- with .paramRef }}
  paramRef: {{ . | toJson }}
  {{- end }}
  validationActions: [{{ .action | default "Deny" }}]
{{- end -}}

{{- /* The end of every message: src/kube/refusal.ts knows these words. From the account. */ -}}
{{- define "earshot.policyHint" -}}
If another admission policy or webhook changed it, exclude requests of {{ . }} there.
{{- end -}}

{{- /* Variables: what the account itself wrote, and what it took away. Without managed fields, everything that changed counts as written. */ -}}
{{- define "earshot.writtenFields" -}}
- name: fields
  expression: >-
    object == null ? [] : object.metadata.?managedFields.orValue([]).map(entry, dyn(entry)[?'fieldsV1'].orValue({}))
{{- end -}}

{{- define "earshot.writtenMetadata" -}}
{{ include "earshot.writtenFields" . }}
- { name: labels, expression: "object == null ? {} : object.metadata.?labels.orValue({})" }
- { name: labelsBefore, expression: "object == null || oldObject == null ? {} : oldObject.metadata.?labels.orValue({})" }
- name: writtenLabels
  expression: >-
    variables.labels.filter(key, !(key in variables.labelsBefore && variables.labelsBefore[key] == variables.labels[key])
    && (variables.fields.size() == 0 || variables.fields.exists(each, ('f:' + key) in each[?'f:metadata'][?'f:labels'].orValue({}))))
    + variables.labelsBefore.filter(key, !(key in variables.labels))
- { name: annotations, expression: "object == null ? {} : object.metadata.?annotations.orValue({})" }
- { name: annotationsBefore, expression: "object == null || oldObject == null ? {} : oldObject.metadata.?annotations.orValue({})" }
- name: writtenAnnotations
  expression: >-
    variables.annotations.filter(key, !(key in variables.annotationsBefore && variables.annotationsBefore[key] == variables.annotations[key])
    && (variables.fields.size() == 0 || variables.fields.exists(each, ('f:' + key) in each[?'f:metadata'][?'f:annotations'].orValue({}))))
    + variables.annotationsBefore.filter(key, !(key in variables.annotations))
{{- end -}}

{{- /* A pod: nothing but labels of one name, from {who, ownText, own, hint}. `own` is an expression of `key`. */ -}}
{{- define "earshot.podRules" -}}
- { apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [pods] }
{{- end -}}

{{- define "earshot.podValidations" -}}
- expression: object.spec == oldObject.spec
  reason: Forbidden
  messageExpression: >-
    {{ printf "%s may not change spec of a pod, only labels %s. Changed: spec." .who .ownText | quote }}
    + dyn(object.spec).filter(key, dyn(oldObject.spec)[?key] != dyn(object.spec)[?key]).join(', spec.')
    + {{ printf ". %s" .hint | quote }}
  message: {{ printf "%s may not change spec of a pod, only labels %s. %s" .who .ownText .hint | quote }}
- expression: >-
    variables.writtenAnnotations.size() == 0
    && object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([])
    && object.metadata.?finalizers.orValue([]) == oldObject.metadata.?finalizers.orValue([])
  reason: Forbidden
  message: {{ printf "%s may not change metadata.annotations, ownerReferences or finalizers of a pod, only labels %s. %s" .who .ownText .hint | quote }}
- expression: variables.writtenLabels.all(key, {{ .own }})
  reason: Forbidden
  message: {{ printf "In metadata.labels of a pod, %s may change only %s. %s" .who .ownText .hint | quote }}
{{- end -}}

{{- /*
A definition, from {who, hint}. A conversion webhook would be asked about every object of the definition, and may answer with another. A version
that is served no longer takes all its objects out of reach. The garbage collector deletes what only owners have that do not exist.
*/ -}}
{{- define "earshot.definitionRules" -}}
- { apiGroups: [apiextensions.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [customresourcedefinitions] }
{{- end -}}

{{- define "earshot.definitionValidations" -}}
- expression: >-
    object.spec.?conversion.?strategy.orValue('None') == 'None'
    || (oldObject != null && object.spec.?conversion == oldObject.spec.?conversion)
  reason: Forbidden
  message: {{ printf "%s may not set a conversion webhook (spec.conversion). %s" .who .hint | quote }}
- expression: >-
    oldObject == null || oldObject.spec.versions.filter(before, before.served).all(before,
    object.spec.versions.exists(after, after.name == before.name && after.served))
  reason: Forbidden
  message: {{ printf "%s may not stop serving a version of a definition (spec.versions[].served). %s" .who .hint | quote }}
- expression: >-
    object.metadata.?ownerReferences.orValue([]) == (oldObject == null ? [] : oldObject.metadata.?ownerReferences.orValue([]))
    && object.metadata.?finalizers.orValue([]) == (oldObject == null ? [] : oldObject.metadata.?finalizers.orValue([]))
  reason: Forbidden
  message: {{ printf "%s may not change metadata.ownerReferences or finalizers of a definition. %s" .who .hint | quote }}
{{- end -}}

{{- /* Events, from {who, reporters, hint}: `reporters` is a regular expression of reportingController. */ -}}
{{- define "earshot.eventRules" -}}
- { apiGroups: [events.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [events] }
{{- end -}}

{{- define "earshot.eventValidations" -}}
- expression: >-
    [object, oldObject].all(event, event == null || (
      event.?reportingController.orValue('') != '' ? event.reportingController : event.?deprecatedSource.?component.orValue('')
    ).matches({{ .reporters | squote }}))
  reason: Forbidden
  message: {{ printf "%s may write only events that it reports itself (reportingController). %s" .who .hint | quote }}
{{- end -}}
