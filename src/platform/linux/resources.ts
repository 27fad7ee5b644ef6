/** The resources of a namespace in a machine's directories: written into `input/resources`, written back into `runtime/resources`. */
import type { SkupperKind, SkupperResource } from '../../api/skupper/index.ts';
import { markedStale } from '../../agent/stale-status.ts';
import { validateResource } from '../../api/skupper/validate.ts';
import { pause } from '../../work/pause.ts';
import type { OfKind, Resources } from '../resources.ts';
import { commandIn } from './command-in.ts';
import type { NamespaceLayout } from './layout.ts';
import { runningRouters } from './routers.ts';
import { listRuntime, readRuntime } from './runtime-resources.ts';
import { stopped } from './stale-status.ts';
import { findWritten, putManifest, removeManifest, writtenResources } from './written-resources.ts';

/** Milliseconds between looks at files. */
const LOOK_EVERY = 50;

export function directoryResources(layout: NamespaceLayout): Resources {
  return {
    namespace: layout.namespace,
    list: (kind) => listResources(layout, kind),
    get: (kind, name) => readRuntime(layout, kind, name),
    find: (kind, name) => findWritten(layout, kind, name),
    written: () => writtenResources(layout),
    put: (manifest) => putManifest(layout, manifest),
    remove: (kind, name) => removeManifest(layout, kind, name),
    wait: (milliseconds) => pause(Math.min(LOOK_EVERY, milliseconds)),
    notRunning: async () => ((await runningRouters(layout)).length === 0 ? notRunning(layout.namespace) : undefined),
  };
}

function notRunning(namespace: string): string {
  const [run, install] = [commandIn(namespace, 'run'), commandIn(namespace, 'system install')];
  return `Nothing runs the namespace ${namespace} yet: start it with ${run} or ${install}.`;
}

async function listResources<K extends SkupperKind>(layout: NamespaceLayout, kind: K): Promise<readonly OfKind<K>[]> {
  const found = await listRuntime(layout, kind);
  const runs = found.length === 0 || (await runningRouters(layout)).length > 0;
  const taken = runs ? found : found.map((resource) => withoutRouter(resource, layout.namespace));
  const known = new Set(taken.map(({ metadata }) => metadata.name));
  const asked = (await writtenResources(layout)).flatMap(({ manifest }) => {
    if (manifest.kind !== kind || known.has(manifest.metadata.name)) return [];
    const { resource } = validateResource(manifest);
    // Its kind has just been compared.
    return resource === undefined ? [] : [resource as OfKind<K>];
  });
  return [...taken, ...asked].toSorted((one, other) => ((one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1));
}

function withoutRouter<T extends SkupperResource>(resource: T, namespace: string): T {
  const now = new Date().toISOString();
  // A status with fewer fields, all of which may be left out.
  return { ...resource, status: markedStale(resource.status ?? {}, stopped(namespace), now) } as T;
}
