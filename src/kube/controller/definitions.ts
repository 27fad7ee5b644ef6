import type { Logger } from '../../telemetry/log.ts';
import type { KubeClient } from '../contract.ts';
import type { KubeObject } from '../objects.ts';
import type { Resource } from '../resource.ts';
import { printable } from '../../text/printable.ts';
import { VERSION_ANNOTATION } from '../../version.ts';

interface Convertible extends KubeObject {
  readonly spec: { readonly conversion?: { readonly strategy?: string } };
}

/**
 * Applies resource definitions in place, those that an earlier system installed included. Those of a newer version of Earshot stay: an older
 * schema would remove fields from objects that are stored.
 *
 * Rejects when the API server does not take them yet; then call it again.
 */
export async function bringUpToDate<T extends Convertible>(
  client: KubeClient,
  of: Resource<T>,
  definitions: readonly T[],
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (const definition of definitions) {
    const found = versionOf(await client.find(of, { name: definition.metadata.name ?? '' }, { signal }));
    const own = versionOf(definition);
    if (found !== undefined && own !== undefined && isNewer(found, own)) {
      const message = 'left a CustomResourceDefinition of a newer version as it is; run that version of Earshot';
      log.warn({ definition: definition.metadata.name, found: printable(found, 40), own }, message);
      continue;
    }
    const { metadata, spec } = await client.apply(of, definition, { signal });
    if (spec.conversion?.strategy !== 'Webhook') continue;
    // An earlier system's, whose Service went with it. Now there is one version and nothing to convert; from the second on, every
    // object would be out of reach. In one patch, since the strategy may not say None while there is a webhook.
    const name = metadata.name ?? '';
    const patch = { spec: { conversion: { strategy: 'None', webhook: null } } };
    await client.patch(of, { name }, patch, { type: 'merge', signal });
    log.info({ definition: name }, 'took away the conversion webhook that an earlier system left in this CustomResourceDefinition');
  }
}

function versionOf(definition: KubeObject | undefined): string | undefined {
  return definition?.metadata.annotations?.[VERSION_ANNOTATION];
}

/** Semantic Versioning 2.0.0, section 11, as far as its numbers go: a pre-release comes before its release. False where one is not a version. */
export function isNewer(one: string, other: string): boolean {
  const [first, second] = [VERSION.exec(one)?.groups, VERSION.exec(other)?.groups];
  if (first === undefined || second === undefined) return false;
  for (const part of ['major', 'minor', 'patch']) {
    const difference = Number(first[part]) - Number(second[part]);
    if (difference !== 0) return difference > 0;
  }
  return first['pre'] === undefined && second['pre'] !== undefined;
}

const VERSION = /^(?<major>\d{1,9})\.(?<minor>\d{1,9})\.(?<patch>\d{1,9})(?:-(?<pre>[0-9A-Za-z.-]+))?(?:\+.*)?$/;
