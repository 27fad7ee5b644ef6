/** In-memory sources of a console, with one router that gives the answers of the test. */
import { History } from '../../../src/console/history.ts';
import type { ConsoleSources } from '../../../src/console/sources.ts';
import { Watcher } from '../../../src/console/watcher.ts';
import { routerAnswerError } from '../../../src/errors/router-answer-error.ts';
import type { SkupperResource } from '../../../src/api/skupper/index.ts';
import type { ClusterContent } from '../explain/support-cluster.ts';
import { readContent } from './exposed-cluster.ts';

export interface MemoryState {
  network: readonly object[];
  keys: readonly object[];
  links: object;
  changes: object;
  /** Undefined for a router of an older version, which has metrics only. */
  figures: object | undefined;
  metrics: string;
  objects: readonly SkupperResource[];
  routers: readonly string[];
  notRunning: string | undefined;
  /** Answer of a router that asks another site; none by default. Set it before the sources are created. */
  observe?: (site: string) => Promise<unknown>;
  now: number;
  /** Content of a cluster; undefined on a machine. */
  cluster: ClusterContent | undefined;
  /** Number of reads of exposed objects. */
  exposureReads: number;
  /** Or why the list cannot be read. */
  revoked: readonly { readonly name: string; readonly at: number }[] | Error;
}

export function memoryState(): MemoryState {
  return {
    network: [
      site('west-id', 'west', [{ siteId: 'hub-id', siteName: 'hub', cost: 1 }]),
      site('hub-id', 'hub', [
        { siteId: 'west-id', siteName: 'west', cost: 1 },
        { siteId: 'east-id', siteName: 'east', cost: 2 },
      ]),
      site('east-id', 'east', [{ siteId: 'hub-id', siteName: 'hub', cost: 2 }]),
    ],
    keys: [
      { key: 'billing', listeners: [{ site: 'west-id', count: 1 }], connectors: [], reachable: false },
      { key: 'web', listeners: [{ site: 'west-id', count: 1 }], connectors: [{ site: 'east-id', count: 2 }], reachable: true },
    ],
    links: { items: [{ name: 'hub', cost: 1, operational: true, remoteSiteId: 'hub-id', remoteSiteName: 'hub' }], incoming: [] },
    changes: { version: 'e-0', items: [] },
    figures: figuresOf(0, 0),
    metrics: metricsOf(0, 0),
    objects: [
      object('Site', 'west', {}, 'Ready'),
      object('Listener', 'web', { routingKey: 'web', port: 8080, host: '0.0.0.0' }, 'Ready'),
      object(
        'Listener',
        'billing',
        { routingKey: 'billing', port: 8081, host: '0.0.0.0' },
        'Pending',
        'no connector of routing key "billing"',
      ),
    ],
    routers: ['router'],
    notRunning: undefined,
    now: Date.parse('2026-01-01T00:00:00Z'),
    cluster: undefined,
    exposureReads: 0,
    revoked: [],
  };
}

function site(id: string, name: string, links: readonly object[]): object {
  return { id, name, namespace: name, platform: 'linux', version: '1', edge: false, routers: ['router'], links };
}

export function object(kind: SkupperResource['kind'], name: string, spec: object, status: string, message = 'OK'): SkupperResource {
  const conditions = [
    {
      type: 'Matched',
      status: status === 'Ready' ? 'True' : 'False',
      reason: status === 'Ready' ? 'Ready' : 'NoConnector',
      message,
      lastTransitionTime: '2025-12-31T23:50:00Z',
    },
  ];
  // A test gives each kind its required fields.
  return {
    apiVersion: 'skupper.io/v2alpha1',
    kind,
    metadata: { name, namespace: 'west' },
    spec,
    status: { status, message, conditions },
  } as unknown as SkupperResource;
}

/** Figures of the key `web`. All its connections were accepted within 2 ms. */
export function figuresOf(opened: number, failed: number): object {
  return {
    eventLoopDelay: 4,
    certificates: [{ bundle: 'east', days: 3 }],
    items: [
      {
        key: 'web',
        role: 'listener',
        open: 3,
        opened,
        failed: { refused: failed },
        bytes: { up: opened * 100, down: 0 },
        requests: 0,
        errors: 0,
        connect: [[2, opened]],
        request: [],
      },
    ],
  };
}

/** The same from an older router. */
export function metricsOf(opened: number, failed: number): string {
  return `# HELP text
earshot_router_connections_opened_total{routing_key="web",role="listener"} ${opened}
earshot_router_connections_open{routing_key="web",role="listener"} 3
earshot_router_connections_failed_total{routing_key="web",role="listener",reason="refused"} ${failed}
earshot_router_bytes_total{routing_key="web",role="listener",direction="to_server"} ${opened * 100}
earshot_router_certificate_days_left{bundle="east"} 3
earshot_router_event_loop_delay_seconds{quantile="0.99"} 0.004
`;
}

export function memorySources(state: MemoryState): ConsoleSources {
  const { observe } = state;
  const answers: Readonly<Record<string, () => object | undefined>> = {
    '/v1/self': () => ({ router: 'router', version: '1', ready: true }),
    '/v1/network': () => ({ items: state.network }),
    '/v1/keys': () => ({ items: state.keys }),
    '/v1/links': () => state.links,
    '/v1/changes': () => state.changes,
    '/v1/figures': () => state.figures,
  };
  return {
    resources: {
      namespace: 'west',
      where: 'the namespace west of this machine',
      commandFlags: ' -n west',
      // The objects were selected by kind.
      list: (kind) => Promise.resolve(state.objects.filter((one) => one.kind === kind) as never),
      about: () => Promise.resolve({ location: ['Directory', '/'], running: [], routers: [], problems: [] }),
      notRunning: () => Promise.resolve(state.notRunning),
      revoked: () => (state.revoked instanceof Error ? Promise.reject(state.revoked) : Promise.resolve(state.revoked)),
    },
    routers: () => Promise.resolve(state.routers),
    ask: async (_, path) => answers[path.split('?', 1)[0] ?? '']?.() ?? notAtRouter(path),
    metrics: async (_, read) => {
      // A part may end anywhere.
      for (let at = 0; at < state.metrics.length; at += 100) read(state.metrics.slice(at, at + 100));
    },
    ...(observe === undefined ? {} : { observe: (_, siteId) => observe(siteId) }),
    redacted: (resource) => resource,
    exposure: async () => {
      state.exposureReads += 1;
      return state.cluster === undefined ? undefined : readContent(state.cluster);
    },
    now: () => state.now,
  };
}

function notAtRouter(path: string): never {
  throw routerAnswerError(404, `${path} does not exist`);
}

export function memoryWatcher(state: MemoryState, history = new History(2 ** 24), historyProblem?: () => string | undefined): Watcher {
  const place = { where: 'the namespace west of this machine', namespace: 'west', isMachine: true, version: '1' };
  return new Watcher(memorySources(state), { place, history, ...(historyProblem === undefined ? {} : { historyProblem }) });
}
