/** What only some platforms can do. What a resource asks for in vain is told as its problem. */
import type { ResourceProblem } from './problem.ts';
import type { ResourceKey } from './resources.ts';

export type Capability = 'pods' | 'service-accounts';

export type Capabilities = ReadonlySet<Capability>;

export function notOnPlatform(
  resource: ResourceKey,
  field: string,
  message: string,
  severity: ResourceProblem['severity'] = 'warning',
): ResourceProblem {
  return { resource, severity, code: 'not-on-platform', field, message };
}
