/** Names for completion: whatever goes wrong, there are none. */
import { readdir } from 'node:fs/promises';
import type { SkupperKind } from '../../api/skupper/index.ts';
import { layoutOf, namespacesDirectory } from '../../platform/linux/layout.ts';
import { isLabel, isResourceName } from '../../text/names.ts';
import { namesOf } from '../actions/resource-actions.ts';
import { openResources } from '../resources.ts';

export async function resourceNames(kind: SkupperKind, namespace: string | undefined): Promise<readonly string[]> {
  try {
    return (await namesOf(openResources(usual(namespace)), kind)).filter(isResourceName);
  } catch {
    return [];
  }
}

export async function namespaceNames(): Promise<readonly string[]> {
  return namesIn(namespacesDirectory(), isLabel);
}

export async function bundleNames(namespace: string | undefined): Promise<readonly string[]> {
  const { input, internal } = layoutOf(usual(namespace));
  return (await Promise.all([input.certs, internal.certs].map((folder) => namesIn(folder, isResourceName)))).flat();
}

async function namesIn(folder: string, isName: (name: string) => boolean): Promise<readonly string[]> {
  return (await readdir(folder).catch(() => [])).filter(isName);
}

function usual(namespace: string | undefined): string {
  return namespace ?? process.env['EARSHOT_NAMESPACE'] ?? 'default';
}
