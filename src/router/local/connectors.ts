import { bounded } from '../../telemetry/boundary.ts';
import type { ConnectorConfig, Problem } from '../contract.ts';
import { failure, type Failure } from './failure.ts';
import type { ClientTls, ServerResult } from './server-connection.ts';
import { Target, type TargetLimits } from './target.ts';
import { sameBundle } from '../../identity/tls-bundle.ts';
import { secureContextOf } from '../tls-context.ts';

/** All connectors of this router, by routing key. */
export class Connectors {
  readonly #limits: TargetLimits;
  readonly #random: () => number;
  readonly #changed: () => void;
  readonly #byName = new Map<string, Connector>();
  #byKey = new Map<string, readonly Connector[]>();

  /** `changed` is called when a connector's problem may be another. */
  constructor(limits: TargetLimits, random: () => number, changed: () => void) {
    this.#limits = limits;
    this.#random = random;
    this.#changed = changed;
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
      if (known === undefined) this.#byName.set(config.name, new Connector(config, (host) => this.#target(host, config.port)));
      else known.update(config, (host) => this.#target(host, config.port));
    }
    this.#byKey = Map.groupBy(this.#byName.values(), ({ config }) => config.routingKey);
  }

  /** How many servers each key has here. */
  get counts(): ReadonlyMap<string, number> {
    return new Map([...this.#byKey].map(([key, connectors]) => [key, connectors.reduce((sum, { targets }) => sum + targets.length, 0)]));
  }

  get names(): IterableIterator<string> {
    return this.#byName.keys();
  }

  has(routingKey: string): boolean {
    return this.#byKey.has(routingKey);
  }

  /** No server of the key takes connections, as far as is known. */
  isAside(routingKey: string): boolean {
    return this.#byKey.get(routingKey)?.every(({ problem }) => problem !== undefined) ?? true;
  }

  routingKeyOf(name: string): string | undefined {
    return this.#byName.get(name)?.config.routingKey;
  }

  problemOf(name: string): Problem | undefined {
    return this.#byName.get(name)?.problem;
  }

  get setAside(): number {
    let count = 0;
    for (const { targets } of this.#byName.values()) for (const { isAside } of targets) if (isAside) count += 1;
    return count;
  }

  /**
   * Connects to a server of the key: the least busy that is not set aside; when that fails, the next. Where all are set
   * aside, they are asked now, first the one that would be asked soonest. `done` is called once, never within the call.
   * @returns how to give up
   */
  connect(
    routingKey: string,
    attempts: number,
    done: (result: ServerResult | { readonly kind: 'failed'; readonly failure: Failure }) => void,
  ): () => void {
    const connectors = this.#byKey.get(routingKey) ?? [];
    const usable = connectors.filter(({ problem }) => problem?.code.startsWith('tls-') !== true);
    const order = this.#inOrder(usable.flatMap(({ targets }) => targets)).slice(0, attempts);
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

  #inOrder(targets: Target[]): Target[] {
    const [only] = targets;
    if (targets.length === 1 && only !== undefined) return [only];
    const free = targets.filter(({ isAside }) => !isAside);
    if (free.length === 0) return targets.sort((a, b) => a.due - b.due);
    // A random start makes chance decide among equals: the sort is stable.
    const start = Math.floor(this.#random() * free.length);
    return [...free.slice(start), ...free.slice(0, start)].sort((a, b) => a.open - b.open);
  }

  #target(host: string, port: number): Target {
    return new Target({ host, port }, this.#limits, this.#random, this.#changed);
  }
}

/** One connector: its servers live as long as their address stays the same. */
class Connector {
  config: ConnectorConfig;
  targets: readonly Target[] = [];
  #tls: ClientTls | undefined;
  #tlsProblem: Problem | undefined;

  constructor(config: ConnectorConfig, makeTarget: (host: string) => Target) {
    this.config = config;
    this.#readTls();
    this.#follow(makeTarget);
  }

  update(config: ConnectorConfig, makeTarget: (host: string) => Target): void {
    const before = this.config;
    this.config = config;
    const sameTls = sameBundle(before.tls?.bundle, config.tls?.bundle) && before.tls?.verifyHostname === config.tls?.verifyHostname;
    if (!sameTls) this.#readTls();
    if (before.port !== config.port) {
      this.close();
      this.targets = [];
    }
    this.#follow(makeTarget);
  }

  /** What keeps it from working at all. */
  get problem(): Problem | undefined {
    if (this.#tlsProblem !== undefined) return this.#tlsProblem;
    return this.targets.every(({ isAside }) => isAside) ? this.targets[0]?.problem : undefined;
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

  #follow(makeTarget: (host: string) => Target): void {
    const hosts = new Set(this.config.hosts);
    const kept = this.targets.filter(({ server }) => hosts.has(server.host));
    for (const target of this.targets) if (!hosts.has(target.server.host)) target.close();
    const known = new Set(kept.map(({ server }) => server.host));
    this.targets = [...kept, ...[...hosts].filter((host) => !known.has(host)).map((host) => makeTarget(host))];
    for (const target of this.targets) target.tls = this.#tls;
  }
}

function nothingUsable(routingKey: string, connectors: readonly Connector[]): Failure {
  const key = JSON.stringify(routingKey);
  const problem = connectors.find((connector) => connector.problem !== undefined)?.problem;
  if (problem !== undefined) return failure('connect-failed', problem.message);
  if (connectors.length > 0) return failure('no-connector', `The connectors of the routing key ${key} have no hosts.`);
  return failure('no-connector', `No connector here has the routing key ${key}.`);
}
