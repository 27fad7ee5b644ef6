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
 * Applies resource definitions in place, including those installed by an earlier system. Definitions of a newer Earshot version
 * are kept, because an older schema would prune fields of stored objects. Rejects if the API server does not accept them yet; the
 * caller then retries.
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
      const message = 'CustomResourceDefinition of a newer version not changed; run that version of Earshot';
      log.warn({ definition: definition.metadata.name, found: printable(found, 40), own }, message);
      continue;
    }
    const { metadata, spec } = await client.apply(of, definition, { signal });
    if (spec.conversion?.strategy !== 'Webhook') continue;
    // Left by an earlier system whose Service was removed. With one version nothing is converted, but with a second one every
    // object would be inaccessible. One patch, because the strategy must not be None while there is a webhook.
    const name = metadata.name ?? '';
    const patch = { spec: { conversion: { strategy: 'None', webhook: null } } };
    await client.patch(of, { name }, patch, { type: 'merge', signal });
    log.info({ definition: name }, 'removed the conversion webhook that an earlier system left in this CustomResourceDefinition');
  }
}

function versionOf(definition: KubeObject | undefined): string | undefined {
  return definition?.metadata.annotations?.[VERSION_ANNOTATION];
}

/**
 * Compares by Semantic Versioning 2.0.0, section 11, without comparing pre-releases: a pre-release is older than its release.
 * False if one is not a version.
 */
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
