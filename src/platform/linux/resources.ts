/** Resources of a namespace in directories of a machine: users write `input/resources`, the running process writes `runtime/resources`. */
import { BUILD, VERSION } from '../../version.ts';
import type { SkupperKind, SkupperResource } from '../../api/skupper/index.ts';
import { markedStale } from '../../agent/stale-status.ts';
import { validateResource } from '../../api/skupper/validate.ts';
import { pause } from '../../work/pause.ts';
import type { About, OfKind, Resources, PlatformConventions } from '../resources.ts';
import { readRevoked } from '../../trust/disk/ledger.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { commandIn, flagsOf } from '../../text/command-in.ts';
import { linkToHere } from './link-to-here.ts';
import { linux } from './machine.ts';
import { RenewalRequestFiles } from './renewal-requests.ts';
import { locationText } from './report.ts';
import type { NamespaceLayout } from './layout.ts';
import { leadingRouters, runningRouters } from './routers.ts';
import { processText } from './running-process.ts';
import { listRuntime, readProblems, readRuntime } from './runtime-resources.ts';
import { skupperDataAdvice } from './skupper-data.ts';
import { isStarting } from './starting-process.ts';
import { stopped } from './stale-status.ts';
import { findWritten, putManifest, removeManifest, writtenResources } from './written-resources.ts';
import { sortActiveFirst } from '../../site/surplus-sites.ts';

/** Milliseconds between two polls of files. */
const LOOK_EVERY = 50;
/** Milliseconds between two searches for a starting process, and maximum milliseconds until it announces itself. */
const SEARCH_EVERY = 1_000;
const START_WITHIN = 15_000;

export const conventions: PlatformConventions = {
  platform: linux,
  // As in Skupper without a cluster, where the name of a listener is rarely the name of an address.
  listenerHost: () => '0.0.0.0',
  server: () => ({ host: 'localhost' }),
  redeemsAtSite: true,
  namespacesCount: false,
  believeAfter: 3000,
  siteReadyWithin: 60_000,
};

/** @param commandFlags flags with which commands select this place */
export function directoryResources(layout: NamespaceLayout, commandFlags: string = flagsOf(layout.namespace)): Resources {
  let lookedAt = Number.NEGATIVE_INFINITY;
  // Waits for a starting process, so that a command right after `earshot run &` finds it. The search reads all processes, so it runs once a
  // second.
  const runs = async (): Promise<boolean> => {
    for (const end = performance.now() + START_WITHIN; ; await pause(LOOK_EVERY)) {
      if ((await leadingRouters(layout)).length > 0) return true;
      const now = performance.now();
      if (now >= end || now - lookedAt < SEARCH_EVERY) return false;
      if (await isStarting(layout)) continue;
      // It may have announced itself, or ended, in the meantime.
      lookedAt = performance.now();
      return (await leadingRouters(layout)).length > 0;
    }
  };
  return {
    namespace: layout.namespace,
    where: `the namespace ${layout.namespace} of this machine`,
    commandFlags,
    conventions,
    list: (kind) => listResources(layout, kind),
    get: (kind, name) => readRuntime(layout, kind, name),
    find: (kind, name) => findWritten(layout, kind, name),
    written: () => writtenResources(layout),
    put: (manifest) => putManifest(layout, manifest),
    remove: (kind, name) => removeManifest(layout, kind, name),
    follow: () => ({ [Symbol.dispose]: () => {} }),
    wait: (milliseconds) => pause(Math.min(LOOK_EVERY, milliseconds)),
    notRunning: async () => {
      if (await runs()) return undefined;
      return [notRunning(layout.namespace), skupperDataAdvice()].filter((text) => text !== undefined).join(' ');
    },
    lastSeen: async () => sortActiveFirst(await listRuntime(layout, 'Site'))[0],
    hasBundle: () => Promise.resolve(undefined),
    selectorOf: () => Promise.reject(new EarshotError('usage', 'Pods exist only in a cluster: give the server with --host.')),
    linkTo: (site, host) => linkToHere(layout, site, host),
    revoked: () => readRevoked(layout.internal.root),
    renewals: new RenewalRequestFiles(layout),
    about: () => aboutOf(layout),
  };
}

async function aboutOf(layout: NamespaceLayout): Promise<About> {
  const [routers, problems] = await Promise.all([runningRouters(layout), readProblems(layout)]);
  return {
    location: ['Directory', layout.root],
    running: routers.map((running) => {
      const { router, version, commit, network } = running;
      const where = network === undefined ? '' : ` in the network ${network}`;
      const isOther = version !== VERSION || commit !== BUILD?.commit;
      const advice = isOther
        ? `; another build than this command, ${buildText(VERSION, BUILD?.commit)}: restart the site after an upgrade`
        : '';
      return `${router}${where} (${processText(running)}, version ${isOther ? buildText(version, commit) : version}${advice})`;
    }),
    routers,
    problems,
    problemText: { title: `Problems with files below ${layout.input.root}`, lines: problems.map(locationText) },
  };
}

/** For example `0.1.0 (5d5bcbbb)`. */
function buildText(version: string, commit: string | undefined): string {
  return `${version}${commit === undefined ? '' : ` (${commit.slice(0, 8)})`}`;
}

function notRunning(namespace: string): string {
  const [run, install] = [commandIn(namespace, 'run'), commandIn(namespace, 'system install')];
  return `No process runs the namespace ${namespace}: start it with ${run} or ${install}.`;
}

async function listResources<K extends SkupperKind>(layout: NamespaceLayout, kind: K): Promise<readonly OfKind<K>[]> {
  const found = await listRuntime(layout, kind);
  const runs = found.length === 0 || (await leadingRouters(layout)).length > 0;
  const taken = runs ? found : found.map((resource) => withoutRouter(resource, layout.namespace));
  const known = new Set(taken.map(({ metadata }) => metadata.name));
  const asked = (await writtenResources(layout)).flatMap(({ manifest }) => {
    if (manifest.kind !== kind || known.has(manifest.metadata.name)) return [];
    const { resource } = validateResource(manifest);
    // The kinds were compared above.
    return resource === undefined ? [] : [resource as OfKind<K>];
  });
  return [...taken, ...asked].toSorted((one, other) => ((one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1));
}

function withoutRouter<T extends SkupperResource>(resource: T, namespace: string): T {
  const now = new Date().toISOString();
  // Only optional fields were removed.
  return { ...resource, status: markedStale(resource.kind, resource.status ?? {}, stopped(namespace), now) } as T;
}
