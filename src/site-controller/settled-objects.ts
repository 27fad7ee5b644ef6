import { annotation } from '../api/skupper/cluster-names.ts';
import type { KubeObject } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';
import { keyOf } from '../kube/key.ts';
import { changedFields, formatField } from '../kube/changed-fields.ts';
import { isRecord } from '../text/is-record.ts';
import { hasAll, matchesDesired } from './matches-desired.ts';

interface Settled {
  /** Desired fields, as the API server returned them. */
  readonly part: unknown;
  readonly changed: readonly string[];
}

/**
 * Objects that admission policies or webhooks change with every write. Another write would give the same result. So the API server's answer
 * to the last write counts as desired, until the desired state or the object changes. One instance for each namespace with a Site.
 */
export class SettledObjects {
  readonly #objects = new Map<string, Settled>();

  /** Records a write: `answer` is the object that the API server returned. */
  record(of: Resource, answer: KubeObject, desired: KubeObject): void {
    const key = keyFor(of, answer);
    if (matchesDesired(answer, desired)) this.#objects.delete(key);
    else this.#objects.set(key, { part: desiredPart(answer, desired), changed: changedFields(answer, desired, hasAll).map(formatField) });
  }

  has(of: Resource, current: KubeObject, desired: KubeObject): boolean {
    const settled = this.#objects.get(keyFor(of, current));
    return settled !== undefined && hashOf(settled.part) === hashOf(desired) && matchesDesired(current, settled.part);
  }

  /** Desired fields whose value was changed in the last write. */
  changedIn(of: Resource, object: KubeObject): readonly string[] {
    return this.#objects.get(keyFor(of, object))?.changed ?? [];
  }

  forget(of: Resource, object: KubeObject): void {
    this.#objects.delete(keyFor(of, object));
  }
}

const keyFor = ({ plural, group }: Resource, object: KubeObject): string => `${plural}.${group} ${keyOf(object)}`;

/** Lists and selectors count as one value each. */
function desiredPart(answer: unknown, desired: unknown): unknown {
  if (!isRecord(desired) || !isRecord(answer)) return answer;
  return Object.fromEntries(
    Object.entries(desired).map(([key, value]) => [key, key === 'selector' ? answer[key] : desiredPart(answer[key], value)]),
  );
}

function hashOf(object: unknown): unknown {
  const metadata = isRecord(object) ? object['metadata'] : undefined;
  const annotations = isRecord(metadata) ? metadata['annotations'] : undefined;
  return isRecord(annotations) ? annotations[annotation.applied] : undefined;
}
