/** How the files of each tier share processes and the machine. */
import type { TierOptions } from './tier.ts';

type Schedule = Pick<TierOptions, 'together' | 'first' | 'alone' | 'lane'>;

/** Files with their own process: they check the whole process (memory, uncaught errors) or take long. */
const OWN_PROCESS: ReadonlySet<string> = new Set([
  'fuzz',
  'played',
  'simulate',
  'cli/where-it-runs',
  'site-controller/unused-objects',
  'router/boundary',
  'router/edge-access',
  'router/fair-memory',
  'router/fault-injection',
  'router/local/stalled-sockets',
  'runner/tier',
]);
/** Parts of a module that are as large as a module, and small modules. */
const LARGE: ReadonlySet<string> = new Set(['exposure/csi', 'router/link']);
const SMALL: ReadonlySet<string> = new Set(
  'api bench deploy docs errors files harness identity limits memory runner site telemetry text work x509'.split(' '),
);

/** Unit tests that start first, in this order, with the files that share their process. They take longest. */
const LONGEST: readonly string[] = [
  'router/fault-injection',
  'site-controller/faults/controller-killed',
  'cli/healthy-start',
  'exposure/controller',
  'simulate',
  'platform/unreadable-files',
  'site-controller/unused-objects',
  'router/link/hostile',
  'runner/tier',
  'played',
];

/**
 * Unit tests that take half of the processor time: thousands of objects, and each fault, type or order of a class. `make test` runs them.
 * `npm test` leaves them out: it is for every change.
 */
const EXHAUSTIVE: ReadonlySet<string> = new Set([
  'cli/healthy-start',
  'exposure/crowded',
  'platform/lost-files',
  'platform/unreadable-files',
  'platform/wrong-kinds-of-files',
  'routing/hostile',
  'site-controller/contested',
  'site-controller/crowded',
  'site-controller/faults/controller-killed',
  'site-controller/faults/redemption-killed',
  'site-controller/lost-state',
  'site-controller/ownership',
  'site-controller/unreadable',
  'site-controller/unused-objects',
]);

/**
 * Files of `test/net` that run beside another one, longest first. They measure neither time nor memory, and change nothing of the machine.
 * All others run alone.
 */
const BESIDE: readonly string[] = [
  'failures-cut',
  'paths-ring',
  'skew',
  'protocols-postgres',
  'trust-revocation',
  'protocols-http',
  'two-sites',
  'live-traffic',
  'protocols-redis',
  'failures-supervisor',
  'paths-endpoints',
  'paths-slow',
  'volume-listeners',
  'demo-connection',
  'failures-crash',
  'protocols-ssh',
  'skupper-scripts',
  'trust-clock',
  'paths-moved-connector',
  'explain-faults',
  'protocols-failures',
  'protocols-http2-client',
  'trust-tokens',
  'live-site',
  'status-servers',
  'hostile-files',
  'failures-routers',
  'container-networks',
  'dashboards',
  'debug-connections',
  'protocols-endings',
  'trust-disk',
  'explain-firewall',
  'paths-row',
  'trust-crash',
  'machine-manifests',
  'h2spec',
  'volume-open-files',
  'shared-figures',
  'harness',
  'systemd-unit',
];

/** Boots a cluster too, and measures that no connection is lost: two clusters at once are too much for two cores. */
const ALONE = 'sites-upgrade';

/**
 * Files of `test/e2e` that boot a cluster of their own, longest first. They run one after another, beside those of the shared cluster: two
 * files never meet in one cluster.
 */
const OWN_CLUSTER: readonly string[] = ['chart', 'lifecycle-takeover', 'site-install', 'mounts-dual-stack', 'harness', 'crds'];

const pathsOf = (tier: string, names: readonly string[]): readonly string[] => names.map((name) => `test/${tier}/${name}.test.ts`);

export const schedules = {
  unit: { together, first: pathsOf('unit', LONGEST) },
  net: { alone: (file) => !BESIDE.includes(nameOf(file)), first: pathsOf('net', BESIDE) },
  e2e: {
    lane: (file) => (OWN_CLUSTER.includes(nameOf(file)) ? 'own cluster' : 'shared cluster'),
    alone: (file) => nameOf(file) === ALONE,
    first: pathsOf('e2e', OWN_CLUSTER),
  },
} satisfies Readonly<Record<string, Schedule>>;

export function isExhaustive(file: string): boolean {
  return EXHAUSTIVE.has(nameOf(file));
}

/** The name of a file below the folder of its tier. */
function nameOf(file: string): string {
  return file.replace(/^test\/\w+\//, '').replace('.test.ts', '');
}

/** Starting takes longer than most files do, so many share a process. */
function together(file: string): string | undefined {
  const path = nameOf(file);
  const [module = '', part = ''] = path.split('/');
  if (OWN_PROCESS.has(path)) return undefined;
  if (SMALL.has(module)) return 'small';
  // Commands mostly wait for other processes.
  if (module === 'cli') return part < 'e' ? 'cli, first half' : 'cli, second half';
  return LARGE.has(`${module}/${part}`) ? `${module}/${part}` : module;
}
