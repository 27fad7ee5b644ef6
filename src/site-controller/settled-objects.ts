import { annotation } from '../api/skupper/cluster-names.ts';
import type { KubeObject } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';
import { keyOf } from '../kube/key.ts';
import { changedFields, formatField } from '../kube/changed-fields.ts';
import { isRecord } from '../text/is-record.ts';
import { hasAll, matchesDesired } from './matches-desired.ts';

interface Settled {
  /** The wanted fields, as the API server answered them. */
  readonly made: unknown;
  readonly changed: readonly string[];
}

/**
 * Objects that admission policies or webhooks of the cluster change with every write. Written again they would be the same, so what the API
 * server made of the last write counts as wanted, until something else is wanted or somebody changes it.
 * Each namespace with a Site has one of these.
 */
export class SettledObjects {
  readonly #objects = new Map<string, Settled>();

  /** After a write: `answer` is the object as the API server has it then. */
  record(of: Resource, answer: KubeObject, wanted: KubeObject): void {
    const key = keyFor(of, answer);
    if (matchesDesired(answer, wanted)) this.#objects.delete(key);
    else this.#objects.set(key, { made: wantedPart(answer, wanted), changed: changedFields(answer, wanted, hasAll).map(formatField) });
  }

  has(of: Resource, current: KubeObject, wanted: KubeObject): boolean {
    const settled = this.#objects.get(keyFor(of, current));
    return settled !== undefined && hashOf(settled.made) === hashOf(wanted) && matchesDesired(current, settled.made);
  }

  /** The wanted fields that got another value in the last write. */
  changedIn(of: Resource, object: KubeObject): readonly string[] {
    return this.#objects.get(keyFor(of, object))?.changed ?? [];
  }

  forget(of: Resource, object: KubeObject): void {
    this.#objects.delete(keyFor(of, object));
  }
}

const keyFor = ({ plural, group }: Resource, object: KubeObject): string => `${plural}.${group} ${keyOf(object)}`;

/** Lists and selectors are one value each. */
function wantedPart(answer: unknown, wanted: unknown): unknown {
  if (!isRecord(wanted) || !isRecord(answer)) return answer;
  return Object.fromEntries(
    Object.entries(wanted).map(([key, value]) => [key, key === 'selector' ? answer[key] : wantedPart(answer[key], value)]),
  );
}

function hashOf(object: unknown): unknown {
  const metadata = isRecord(object) ? object['metadata'] : undefined;
  const annotations = isRecord(metadata) ? metadata['annotations'] : undefined;
  return isRecord(annotations) ? annotations[annotation.applied] : undefined;
}
