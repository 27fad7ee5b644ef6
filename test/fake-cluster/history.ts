import type { Random } from '../simulate/random.ts';
import type { ClusterPlan } from './plan.ts';

/** Events and their times: milliseconds after the start of the cluster. Names are numbers below the plan's. */
export type Event = { readonly at: number } & Happening;

export type Happening =
  | { readonly kind: 'class'; readonly name: number; readonly spec: ClassDraw | undefined }
  | { readonly kind: 'listener'; readonly name: number; readonly spec: ListenerDraw | undefined }
  | { readonly kind: 'recreate-listener'; readonly name: number }
  | { readonly kind: 'move-listener'; readonly name: number; readonly className: number }
  | { readonly kind: 'pod'; readonly name: number; readonly volumes: readonly VolumeDraw[] }
  | { readonly kind: 'delete-pod'; readonly name: number; readonly again: boolean }
  | { readonly kind: 'delete-claim'; readonly name: number }
  | { readonly kind: 'ready'; readonly name: number; readonly ready: boolean }
  | { readonly kind: 'service'; readonly name: number; readonly how: 'delete' | 'unlabel' | 'retype' | 'foreign' | 'touch' }
  | { readonly kind: 'node'; readonly name: number; readonly how: 'delete' | 'add' | 'readdress' | 'heartbeat' }
  | { readonly kind: 'delete-pod-listeners'; readonly name: number }
  | { readonly kind: 'process'; readonly which: string; readonly how: 'kill' | 'stop' }
  | { readonly kind: 'cut'; readonly which: string; readonly plural: string | undefined; readonly expires: boolean }
  | { readonly kind: 'slow'; readonly plural: string; readonly lag: number; readonly lasts: number }
  | {
      readonly kind: 'trouble';
      readonly lasts: number;
      readonly fails: number;
      readonly loses: number;
      readonly throttles: number;
      readonly hangs: number;
      readonly conflicts: number;
    }
  | { readonly kind: 'down'; readonly lasts: number }
  /** A pod is deleted without waiting for its kubelet. */
  | { readonly kind: 'force-delete-pod'; readonly name: number; readonly again: boolean }
  /** Load balancers give no addresses and take away those that they gave, or give them again. */
  | { readonly kind: 'addresses'; readonly held: boolean }
  /** The volume of the pod's first claim is retained. Pod and claim are deleted and created again. */
  | { readonly kind: 'retain'; readonly name: number; readonly volumes: readonly VolumeDraw[] }
  /** Something changes back what the controller writes of one kind. */
  | { readonly kind: 'fight'; readonly plural: Fought; readonly after: number; readonly lasts: number };

export type Fought = 'services' | 'listeners' | 'podlisteners';

export interface ClassDraw {
  readonly serviceType: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'OpenShiftRoute';
  readonly pinnedNodePorts: boolean;
  readonly preferredAddressType: 'HostnameConservative' | 'IP' | 'Hostname';
  readonly nodeLossPolicy: 'Keep' | 'Release';
  readonly annotations: number;
}

export interface ListenerDraw {
  readonly className: number;
  /** Two of one number are refused by the API server. */
  readonly ports: readonly number[];
  readonly publishNotReady: boolean;
}

export interface VolumeDraw {
  /** `claim`: the first claim of the pod of that name. */
  readonly by: 'class' | 'listener' | 'claim';
  readonly name: number;
  readonly ephemeral: boolean;
}

/** The API server refuses it. */
const NO_PORT = 70_000;

export const WATCHED = [
  'services',
  'listeners',
  'listenerclasses',
  'endpointslices',
  'nodes',
  'persistentvolumes',
  'podlisteners',
] as const;

export function drawHistory(plan: ClusterPlan, random: Random): readonly Event[] {
  const events: Event[] = [];
  for (let name = 0; name < plan.classes; name += 1) events.push({ at: 0, kind: 'class', name, spec: drawClass(random) });
  for (let name = 0; name < plan.names; name += 1) {
    if (random.chance(0.7)) events.push({ at: random.scaled(1, 1_000), kind: 'listener', name, spec: drawListener(plan, random) });
    if (random.chance(0.8)) events.push({ at: random.scaled(1, 2_000), kind: 'pod', name, volumes: drawVolumes(plan, random) });
  }
  if (random.chance(0.1)) events.push(...drawRescue(plan, random));
  const lasts = random.scaled(500, 20_000);
  for (let left = random.int(1, 14); left > 0; left -= 1) {
    // Often several at once: what comes together is what meets.
    const last = events.at(-1)?.at ?? 0;
    const at = random.chance(0.3) ? last + random.int(0, 30) : random.int(0, lasts);
    events.push({ at, ...drawHappening(plan, random) });
  }
  return events;
}

/** In some worlds. Drawn by itself, so that all else of a world stays as it is. */
export function drawFight(random: Random): readonly Event[] {
  if (!random.chance(0.05)) return [];
  const plural = random.pick(['services', 'listeners', 'podlisteners'] as const);
  return [{ at: random.scaled(1, 5_000), kind: 'fight', plural, after: random.scaled(1, 2_000), lasts: random.int(70_000, 240_000) }];
}

/** Since load balancers have been at work, in milliseconds. */
const AT_REST = 3_000;
/** Act of a pod before its address comes. An ended one was running or waiting before. */
const STATES = ['waits', 'waits', 'runs', 'ends', 'is forced to end'] as const;

/** Pods of one claim on one node: some run, some wait for an address, some of both end. Then the address comes. */
export function drawWaiting({ others }: ClusterPlan, random: Random): readonly Event[] {
  const pause = AT_REST + 20 * others;
  const events: Event[] = [
    { at: 0, kind: 'class', name: 0, spec: { ...drawClass(random), serviceType: 'LoadBalancer', preferredAddressType: 'IP' } },
    { at: 1, kind: 'listener', name: 0, spec: { className: 0, ports: [8_000], publishNotReady: true } },
  ];
  const own: VolumeDraw = { by: random.pick(['class', 'listener']), name: 0, ephemeral: false };
  const shared: VolumeDraw = { by: 'claim', name: 0, ephemeral: false };
  const pods = Array.from({ length: random.int(1, 3) }, (_, name) => ({
    name,
    state: random.pick(STATES),
    ranBefore: random.chance(0.3),
    again: random.chance(0.5),
    volumes: [name === 0 ? own : shared],
  }));
  const withdrawn = pause;
  const [ending, given] = [withdrawn + pause, withdrawn + 2 * pause + random.scaled(1, 60_000)];
  events.push({ at: withdrawn, kind: 'addresses', held: true });
  for (const { name, state, ranBefore, again, volumes } of pods) {
    const runs = state === 'runs' || ranBefore;
    events.push({ at: (runs ? 2 : withdrawn + 100) + random.int(0, 200), kind: 'pod', name, volumes });
    const at = ending + (random.chance(0.5) ? random.int(0, 30) : random.int(0, given - ending));
    if (state === 'ends') events.push({ at, kind: 'delete-pod', name, again });
    if (state === 'is forced to end') events.push({ at, kind: 'force-delete-pod', name, again });
  }
  events.push({ at: given, kind: 'addresses', held: false });
  return events.toSorted((one, other) => one.at - other.at);
}

/** In some worlds. Drawn by itself, like a fight. */
export function drawRetained(plan: ClusterPlan, random: Random): readonly Event[] {
  if (!random.chance(0.05)) return [];
  return [{ at: random.scaled(1_000, 20_000), kind: 'retain', name: random.int(0, plan.names - 1), volumes: drawVolumes(plan, random) }];
}

/** A pod is pinned to a deleted node, and its Listener moves to a class that releases it. */
function drawRescue({ nodes }: ClusterPlan, random: Random): readonly Event[] {
  const pinned = { ...drawClass(random), serviceType: 'NodePort', pinnedNodePorts: true } as const;
  const gone = random.int(3_000, 6_000);
  return [
    { at: 0, kind: 'class', name: 0, spec: { ...pinned, nodeLossPolicy: 'Keep' } },
    { at: 0, kind: 'class', name: 1, spec: { ...pinned, nodeLossPolicy: 'Release' } },
    { at: 1, kind: 'listener', name: 0, spec: { className: 0, ports: [8_000], publishNotReady: true } },
    { at: 2, kind: 'pod', name: 0, volumes: [{ by: 'listener', name: 0, ephemeral: false }] },
    ...Array.from({ length: nodes }, (_, name) => ({ at: gone, kind: 'node', name, how: 'delete' }) as const),
    { at: gone + random.scaled(1, 1_000), kind: 'move-listener', name: 0, className: 1 },
  ];
}

function drawHappening(plan: ClusterPlan, random: Random): Happening {
  const name = random.int(0, plan.names - 1);
  const node = random.int(0, plan.nodes - 1);
  const kinds: readonly (() => Happening)[] = [
    () => ({ kind: 'class', name: random.int(0, plan.classes - 1), spec: random.chance(0.1) ? undefined : drawClass(random) }),
    () => ({ kind: 'listener', name, spec: random.chance(0.2) ? undefined : drawListener(plan, random) }),
    () => ({ kind: 'listener', name, spec: drawListener(plan, random) }),
    () => ({ kind: 'recreate-listener', name }),
    () => ({ kind: 'move-listener', name, className: random.int(0, plan.classes - 1) }),
    () => ({ kind: 'pod', name, volumes: drawVolumes(plan, random) }),
    () => ({ kind: 'delete-pod', name, again: random.chance(0.7) }),
    () => ({ kind: 'delete-claim', name }),
    () => ({ kind: 'ready', name, ready: random.chance(0.5) }),
    () => ({ kind: 'service', name, how: random.pick(['delete', 'unlabel', 'retype', 'foreign', 'touch']) }),
    () => ({ kind: 'service', name, how: 'delete' }),
    () => ({ kind: 'node', name: node, how: 'delete' }),
    () => ({ kind: 'node', name: node, how: random.pick(['delete', 'add', 'readdress', 'heartbeat']) }),
    () => ({ kind: 'delete-pod-listeners', name }),
    () => ({ kind: 'process', which: drawProcess(plan, random), how: random.pick(['kill', 'stop']) }),
    () => ({
      kind: 'cut',
      which: drawProcess(plan, random),
      plural: random.chance(0.5) ? random.pick(WATCHED) : undefined,
      expires: random.chance(0.4),
    }),
    () => ({ kind: 'slow', plural: random.pick(WATCHED), lag: random.scaled(20, 5_000), lasts: random.scaled(100, 10_000) }),
    () => ({ kind: 'slow', plural: random.pick(WATCHED), lag: random.scaled(20, 5_000), lasts: random.scaled(100, 10_000) }),
    () => drawTrouble(random),
    () => ({ kind: 'down', lasts: random.scaled(50, 5_000) }),
  ];
  return (random.pick(kinds) ?? drawTrouble.bind(undefined, random))();
}

function drawTrouble(random: Random): Happening {
  const some = (): number => (random.chance(0.4) ? random.unit() * 0.4 : 0);
  const hangs = random.chance(0.1) ? random.unit() * 0.2 : 0;
  return {
    kind: 'trouble',
    lasts: random.scaled(50, 5_000),
    fails: some(),
    loses: some() / 2,
    throttles: some() / 2,
    hangs,
    conflicts: some(),
  };
}

function drawProcess(plan: ClusterPlan, random: Random): string {
  const which = random.int(0, plan.nodes + 1);
  return which < plan.nodes ? `driver-${which}` : `controller-${random.int(0, plan.replicas - 1)}`;
}

function drawClass(random: Random): ClassDraw {
  return {
    serviceType: random.chance(0.05) ? 'OpenShiftRoute' : random.pick(['ClusterIP', 'NodePort', 'NodePort', 'NodePort', 'LoadBalancer']),
    pinnedNodePorts: random.chance(0.5),
    preferredAddressType: random.pick(['HostnameConservative', 'HostnameConservative', 'IP', 'Hostname']),
    nodeLossPolicy: random.pick(['Keep', 'Release']),
    annotations: random.int(0, 2),
  };
}

function drawListener(plan: ClusterPlan, random: Random): ListenerDraw {
  const ports = Array.from({ length: random.int(1, 2) }, () => (random.chance(0.05) ? NO_PORT : random.int(8_000, 8_003)));
  return { className: random.int(0, plan.classes - 1), ports, publishNotReady: random.chance(0.5) };
}

function drawVolumes(plan: ClusterPlan, random: Random): readonly VolumeDraw[] {
  return Array.from({ length: random.chance(0.2) ? 2 : 1 }, () => ({
    by: random.pick(['class', 'class', 'listener']),
    name: random.int(0, plan.names - 1),
    ephemeral: random.chance(0.3),
  }));
}
