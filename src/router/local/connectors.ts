import { bounded } from '../../telemetry/boundary.ts';
import type { ConnectorConfig, ConnectorState, Problem, ProbeTarget } from '../contract.ts';
import { failure, type Failure } from './failure.ts';
import type { ClientTls, ServerResult } from './server-connection.ts';
import { Target, type TargetHealth, type TargetLimits, type TargetOptions } from './target.ts';
import { Semaphore } from '../../limits/loop/semaphore.ts';
import { sameBundle } from '../../identity/tls-bundle.ts';
import { secureContextOf } from '../tls-context.ts';

type ConnectResult = ServerResult | { readonly kind: 'failed'; readonly failure: Failure };

/** All connectors of this router, by routing key. */
export class Connectors {
  readonly #random: () => number;
  readonly #targetOptions: Pick<TargetOptions, 'limits' | 'random' | 'changed' | 'firstProbes'>;
  readonly #byName = new Map<string, Connector>();
  #byKey = new Map<string, readonly Connector[]>();

  /** @param changed called when the health of a connector's servers changes */
  constructor(limits: TargetLimits, random: () => number, changed: () => void) {
    this.#random = random;
    this.#targetOptions = { limits, random, changed, firstProbes: new Semaphore(FIRST_PROBES, Infinity) };
  }

  apply(configs: readonly ConnectorConfig[]): void {
    const names = new Set(configs.map(({ name }) => name));
    for (const [name, connector] of this.#byName) {
      if (names.has(name)) continue;
      connector.close();
      this.#byName.delete(name);
    }
    for (const config of configs) {
      const known = this.#byName.get(config.name);
      if (known === undefined) this.#byName.set(config.name, new Connector(config, this.#targetOptions));
      else known.update(config);
    }
    this.#byKey = Map.groupBy(this.#byName.values(), ({ config }) => config.routingKey);
  }

  /** Number of servers here by key. */
  get counts(): ReadonlyMap<string, number> {
    return new Map([...this.#byKey].map(([key, connectors]) => [key, connectors.reduce((sum, { targets }) => sum + targets.length, 0)]));
  }

  get names(): IterableIterator<string> {
    return this.#byName.keys();
  }

  has(routingKey: string): boolean {
    return this.#byKey.has(routingKey);
  }

  /** Whether all servers of the key refused the last attempt. */
  isFailing(routingKey: string): boolean {
    return this.#byKey.get(routingKey)?.every(({ problem, servers }) => problem !== undefined || servers.kind === 'failing') ?? true;
  }

  routingKeyOf(name: string): string | undefined {
    return this.#byName.get(name)?.config.routingKey;
  }

  stateOf(name: string): Pick<ConnectorState, 'problem' | 'servers'> {
    const { problem, servers } = this.#byName.get(name) ?? {};
    return {
      ...(problem === undefined ? {} : { problem }),
      ...(servers === undefined || servers.kind === 'fine' || problem !== undefined ? {} : { servers }),
    };
  }

  get setAside(): number {
    let count = 0;
    for (const { targets } of this.#byName.values()) for (const { isAside } of targets) if (isAside) count += 1;
    return count;
  }

  /**
   * Connects to a server of the key: the least busy one that is not set aside, then the next if that fails. If all are set aside, they
   * are tried now, the one that is due soonest first. Calls `done` once, never within the call.
   * @returns a function to cancel
   */
  connect(routingKey: string, attempts: number, done: (result: ConnectResult) => void): () => void {
    return this.#connectToOne(this.#byKey.get(routingKey) ?? [], routingKey, attempts, done);
  }

  /** The same for the servers of one connector. */
  connectBy(name: string, attempts: number, done: (result: ConnectResult) => void): () => void {
    const connector = this.#byName.get(name);
    return this.#connectToOne(connector === undefined ? [] : [connector], connector?.config.routingKey ?? '', attempts, done);
  }

  /** Number of servers of a key or a connector, and of those that are set aside. */
  serversOf(target: ProbeTarget): { readonly key: number; readonly aside: number } {
    const named = 'key' in target ? this.#byKey.get(target.key) : [this.#byName.get(target.connector)];
    const targets = (named ?? []).flatMap((connector) => connector?.targets ?? []);
    return { key: targets.length, aside: targets.filter(({ isAside }) => isAside).length };
  }

  #connectToOne(connectors: readonly Connector[], routingKey: string, attempts: number, done: (result: ConnectResult) => void): () => void {
    const order = this.#inOrder(targetsOf(connectors));
    if (order.length > attempts) order.length = attempts;
    let giveUp: () => void = () => {};
    const next = (last: Failure): void => {
      const target = order.shift();
      if (target === undefined) {
        done({ kind: 'failed', failure: last });
        return;
      }
      giveUp = target.connect((result) => (result.kind === 'failed' ? next(result.failure) : done(result)));
    };
    if (order.length > 0) {
      next(failure('no-connector', ''));
      return () => giveUp();
    }
    const why = nothingUsable(routingKey, connectors);
    const fail = (): void => done({ kind: 'failed', failure: why });
    const soon = setImmediate(bounded('connection/no-server', fail, fail));
    return () => clearImmediate(soon);
  }

  close(): void {
    for (const connector of this.#byName.values()) connector.close();
  }

  /** @returns a list of its own */
  #inOrder(targets: readonly Target[]): Target[] {
    const [only] = targets;
    if (targets.length === 1 && only !== undefined) return [only];
    const free = targets.filter(({ isAside }) => !isAside);
    if (free.length === 0) return targets.toSorted((a, b) => a.due - b.due);
    // A random start decides among equal servers, since the sort is stable.
    const start = Math.floor(this.#random() * free.length);
    return [...free.slice(start), ...free.slice(0, start)].sort((a, b) => a.open - b.open);
  }
}

/** Maximum number of first probes in progress. */
const FIRST_PROBES = 128;

/** One connector. Its servers live as long as their address stays the same. */
class Connector {
  config: ConnectorConfig;
  targets: Target[] = [];
  readonly #options: Pick<TargetOptions, 'limits' | 'random' | 'changed' | 'firstProbes'>;
  #tls: ClientTls | undefined;
  #tlsProblem: Problem | undefined;

  constructor(config: ConnectorConfig, options: Pick<TargetOptions, 'limits' | 'random' | 'changed' | 'firstProbes'>) {
    this.config = config;
    this.#options = options;
    this.#readTls();
    this.#follow();
  }

  update(config: ConnectorConfig): void {
    const before = this.config;
    this.config = config;
    const sameTls = sameBundle(before.tls?.bundle, config.tls?.bundle) && before.tls?.verifyHostname === config.tls?.verifyHostname;
    if (!sameTls) this.#readTls();
    if (before.port !== config.port || before.probe !== config.probe) {
      this.close();
      this.targets = [];
    }
    this.#follow();
  }

  /** Configuration problem that keeps it from working. */
  get problem(): Problem | undefined {
    return this.#tlsProblem;
  }

  /** Health of all its servers together: one working server is enough. */
  get servers(): TargetHealth {
    const all = this.targets.map(({ health }) => health);
    return all.find(({ kind }) => kind === 'fine') ?? all.find(({ kind }) => kind === 'untried') ?? all[0] ?? { kind: 'fine' };
  }

  close(): void {
    for (const target of this.targets) target.close();
  }

  #readTls(): void {
    const { tls } = this.config;
    this.#tls = undefined;
    this.#tlsProblem = undefined;
    if (tls === undefined) return;
    const { cert, key } = tls.bundle;
    const kind = cert === undefined && key === undefined ? 'trust' : 'client';
    const result = secureContextOf(tls.bundle, { kind, dates: 'none' }, 'TLSv1.2');
    if (result.kind === 'usable') this.#tls = { context: result.context, verifyHostname: tls.verifyHostname };
    else this.#tlsProblem = result.problem;
  }

  #follow(): void {
    const { hosts: all, port, probe } = this.config;
    const hosts = new Set(all);
    const kept = this.targets.filter(({ server }) => hosts.has(server.host));
    for (const target of this.targets) if (!hosts.has(target.server.host)) target.close();
    const known = new Set(kept.map(({ server }) => server.host));
    this.targets = kept;
    // Without a usable bundle no new target may connect. Existing targets keep the previous bundle.
    if (this.#tlsProblem !== undefined) return;
    for (const target of kept) target.changeTls(this.#tls);
    const options = { ...this.#options, probed: probe !== 'none', tls: this.#tls };
    for (const host of hosts) if (!known.has(host)) this.targets.push(new Target({ host, port }, options));
  }
}

/** Servers of the connectors without a configuration problem. */
function targetsOf(connectors: readonly Connector[]): readonly Target[] {
  const [only] = connectors;
  if (connectors.length === 1 && only !== undefined) return only.problem === undefined ? only.targets : [];
  return connectors.filter(({ problem }) => problem === undefined).flatMap(({ targets }) => targets);
}

function nothingUsable(routingKey: string, connectors: readonly Connector[]): Failure {
  const key = JSON.stringify(routingKey);
  const problem = connectors.find((connector) => connector.problem !== undefined)?.problem;
  if (problem !== undefined) return failure('connect-failed', problem.message);
  if (connectors.length > 0) return failure('no-connector', `The connectors of the routing key ${key} have no hosts.`);
  return failure('no-connector', `No connector here has the routing key ${key}.`);
}
