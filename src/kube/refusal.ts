/**
 * Finds out why the API server refuses a request, and what helps: RBAC, a quota, and an admission policy or webhook all return
 * 403.
 */
import { ApiError } from './errors.ts';

/**
 * `rights`: RBAC. `own-policy`: a policy of Earshot's chart, whose message contains the advice. `other`: only the message is
 * available.
 */
export type RefusalCause = 'credentials' | 'rights' | 'quota' | 'own-policy' | 'policy' | 'webhook' | 'pod-security' | 'other';

/** Text in messages of the chart's own policies (`earshot.policyHint`). */
export const OWN_POLICY_HINT = 'exclude requests of system:serviceaccount:';

/** The API server has no field for the cause, but its plugins use these words (k8s.io/apiserver, plugin/pkg/admission). */
const WORDS: readonly (readonly [RefusalCause, RegExp])[] = [
  ['own-policy', new RegExp(OWN_POLICY_HINT)],
  ['policy', /ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request/],
  ['webhook', /admission webhook "[^"]*" denied the request/],
  ['quota', /\b(?:exceeded|failed|insufficient) quota\b/],
  ['pod-security', /violates PodSecurity/],
  ['rights', /\bcannot \w+ resource\b|attempting to grant RBAC permissions not currently held/],
];

export function refusalCauseOf({ status, statusMessage }: ApiError): RefusalCause {
  if (status === 401) return 'credentials';
  return WORDS.find(([, words]) => words.test(statusMessage))?.[0] ?? 'other';
}

const ADVICE: Readonly<Record<RefusalCause, string>> = {
  credentials: 'The API server does not accept the token of the installation: restart the pod, or install Earshot again.',
  rights: 'A permission is missing (RBAC): install Earshot again with its chart.',
  quota: 'Raise the ResourceQuota, or free some of it.',
  policy: 'An admission policy of this cluster refuses it: change the resource, or exclude Earshot from that policy.',
  webhook: 'An admission webhook of this cluster refuses it: change the resource, or exclude Earshot from that webhook.',
  'pod-security': 'Pod Security refuses it: allow it with the labels of the namespace.',
  'own-policy': '',
  other: '',
};

/** Advice for the user as a sentence after a space; empty if the message is sufficient. */
export function refusalAdvice(error: unknown): string {
  const advice = error instanceof ApiError ? ADVICE[refusalCauseOf(error)] : '';
  return advice === '' ? '' : ` ${advice}`;
}

/** The message, and advice for the user as a sentence of its own. Messages of the API server often end without a full stop. */
export function withRefusalAdvice(message: string, error: unknown): string {
  const advice = refusalAdvice(error);
  return advice === '' || message.endsWith('.') ? `${message}${advice}` : `${message}.${advice}`;
}
