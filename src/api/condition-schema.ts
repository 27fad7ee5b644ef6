import { choice, integer, listOf, object, optional, text } from './schema.ts';

/**
 * A list of metav1.Condition with the limits of that type (k8s.io/apimachinery, pkg/apis/meta/v1/types.go). Server-side apply
 * merges it by `type`.
 */
export function conditions(description: string) {
  return listOf(condition, description, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] });
}

const QUALIFIED_NAME = '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$';

const condition = object('One thing that is known about the object.', {
  type: text('What the condition is about.', { maxLength: 316, pattern: QUALIFIED_NAME }),
  status: choice(['True', 'False', 'Unknown'], 'Whether it holds.'),
  observedGeneration: optional(integer('int64', '`metadata.generation` of the object that this was found out about.', { minimum: 0 })),
  lastTransitionTime: text('When `status` last changed.', { format: 'date-time' }),
  reason: text('One word, for programs: why it has this status.', {
    minLength: 1,
    maxLength: 1024,
    pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
  }),
  message: text('For users: the state, and what to do about it.', { maxLength: 32_768 }),
});
