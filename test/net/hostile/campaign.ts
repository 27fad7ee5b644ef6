/**
 * A router under attack, and a client that has nothing to do with it. East lets links in; west is linked to it, and west's client asks a web server
 * in the east; the attackers are on a host of their own.
 */
import { copyFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Program } from '../../harness/program.ts';
import {
  connector,
  createNetwork,
  eventually,
  linkByToken,
  listener,
  manifest,
  placeLinkFiles,
  ENDLESS_PAGES,
  startNginx,
  startNode,
  startSite,
  type Host,
  type Site,
} from '../harness/index.ts';
import type { Paced } from './pacer.ts';

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
/**
 * As if attackers, and the servers that only they ask, had machines of their own: what others feel is then the router's doing, and not that
 * all share the same cores.
 */
const ELSEWHERE = ['nice', '-n', '19', process.execPath] as const;
const [WEB, ENDLESS, STUCK, SILENT, GRANTS, ANSWERS, BYSTANDER] = [80, 7001, 7002, 7003, 9090, 20_000, 30_000];

/** Of an address: nobody answers there, not even that nobody is there. */
const NOBODY = '250';

export interface Phase {
  readonly name: string;
  /** Of what came of the attack's cases, how many each. */
  readonly told: Readonly<Record<string, number>>;
  readonly paced: Paced;
  /** MB of resident memory of the attacked router: before, the most meanwhile. */
  readonly memory: { readonly before: number; readonly most: number };
  /** Seconds of its processor time. */
  readonly cpu: number;
}

export interface Size {
  readonly cases: number;
  readonly seconds: number;
  readonly seed: number;
}

/** By the port that is attacked, or what is dialed; the last by what clients of a listener do, who need no certificate. */
export const ATTACKS = [
  'certificates',
  'half-open',
  'frames',
  'hellos',
  'renewals',
  'crowd',
  'maps',
  'grants',
  'answers',
  'leavers',
] as const;
export type AttackName = (typeof ATTACKS)[number];

/** Certificates against a server on the attackers' own host: what others feel of it is not the router's doing. */
export const CONTROL = 'elsewhere';
export type StrikeName = AttackName | typeof CONTROL;

export class Campaign implements AsyncDisposable {
  readonly east: Site;
  readonly west: Site;
  readonly #strange: Host;
  readonly #pacer: Program;
  readonly #keys: string;
  readonly #port: string;
  readonly #owned: AsyncDisposable;

  private constructor(
    sites: { readonly east: Site; readonly west: Site; readonly strange: Host; readonly pacer: Program },
    keys: { readonly certificates: string; readonly port: string },
    owned: AsyncDisposable,
  ) {
    ({ east: this.east, west: this.west, strange: this.#strange, pacer: this.#pacer } = sites);
    ({ certificates: this.#keys, port: this.#port } = keys);
    this.#owned = owned;
  }

  /** @param perSecond requests of the client */
  static async start(options: {
    readonly test?: TestContext;
    readonly perSecond: number;
    readonly args?: readonly string[];
    /** Of the attacked router. */
    readonly env?: Readonly<Record<string, string>>;
  }): Promise<Campaign> {
    const { test, perSecond, args = [], env = {} } = options;
    await using stack = new AsyncDisposableStack();
    const net = stack.use(await createNetwork({ hosts: ['west', 'east', 'strange'], ...(test === undefined ? {} : { test }) }));
    const [client, server, strange] = [net.host('west'), net.host('east'), net.host('strange')];
    const keys = { web: WEB, endless: ENDLESS, stuck: STUCK };
    const east = await startSite(server, {
      access: true,
      args,
      env,
      resources: [
        ...Object.entries(keys).map(([key, port]) => connector(key, '127.0.0.1', port)),
        connector('silent', server.v4.replace(/\d+$/, NOBODY), SILENT),
      ],
    });
    const west = await startSite(client, { resources: [listener('web', '127.0.0.1', WEB), listener('silent', client.v4, SILENT)] });
    await startNginx(server, { port: WEB });
    await startNode(server, ENDLESS, ENDLESS_PAGES, ELSEWHERE);
    await startNode(server, STUCK, 'socket.pause();', ELSEWHERE);
    await linkByToken(west, east);
    const placed = await placeLinkFiles(east, east.host.v4, strange);
    // As if the site's own authority had fallen into their hands: nobody else could sign what is odd.
    await copyFile(`${east.layout.internal.ca}/tls.key`, `${placed.certificates}/ca.key`);
    // A grant that nobody redeems keeps the port for tokens open.
    await east.earshot(['token', 'issue', `${placed.certificates}/token.yaml`]);
    for (const name of ['web', 'silent']) await west.waitFor('Listener', name);
    const pacer = await client.spawn([process.execPath, here('pacer.ts'), String(WEB), String(perSecond)], { name: 'pacer' });
    await pacer.ready(() => pacer.output.includes('pacing'));
    const owned = stack.move();
    return new Campaign({ east, west, strange, pacer }, placed, owned);
  }

  /** The client alone, for so many seconds. */
  async quiet(seconds: number): Promise<Paced> {
    await this.#paced();
    await setTimeout(seconds * 1_000);
    return this.#paced();
  }

  /** One attack from its beginning to its end. */
  async strike(name: StrikeName, size: Size): Promise<Phase> {
    const { east } = this;
    await this.#paced();
    const before = { memory: east.process.memory(), cpu: east.process.cpuSeconds() };
    const watch = new AbortController();
    const most = this.#watchMemory(watch.signal);
    let told: Phase['told'];
    try {
      told = await this.#carryOut(name, size);
    } finally {
      watch.abort();
      await most;
    }
    return {
      name,
      told,
      paced: await this.#paced(),
      memory: { before: before.memory, most: await most },
      cpu: east.process.cpuSeconds() - before.cpu,
    };
  }

  #carryOut(name: StrikeName, size: Size): Promise<Phase['told']> {
    switch (name) {
      case 'answers':
        return this.#answers(size);
      case CONTROL:
        return this.#elsewhere(size);
      case 'leavers':
        return this.#attack(name, { host: this.west.host.v4, port: String(SILENT) }, size);
      default:
        return this.#horde(name, size);
    }
  }

  async #horde(name: AttackName, size: Size): Promise<Phase['told']> {
    return this.#attack(name, { host: this.east.host.v4, port: name === 'grants' ? String(GRANTS) : this.#port }, size);
  }

  async #elsewhere(size: Size): Promise<Phase['told']> {
    const [{ v4: host }, port] = [this.#strange, String(BYSTANDER)];
    const server = await this.#strange.spawn([...ELSEWHERE, here('bystander.ts'), host, port, this.#keys], { name: 'bystander' });
    await server.ready(() => this.#strange.listens(BYSTANDER));
    const told = await this.#attack('certificates', { host, port }, size);
    await server.kill();
    return told;
  }

  async #attack(
    name: AttackName,
    { host, port }: { readonly host: string; readonly port: string },
    { cases, seconds, seed }: Size,
  ): Promise<Phase['told']> {
    const args = [name, host, port, this.#keys, ...[cases, seconds, seed].map(String)];
    const said = await this.#strange.run([...ELSEWHERE, here('horde.ts'), ...args], { timeoutMs: (seconds + 30) * 1_000 });
    // The horde's one line.
    return (JSON.parse(said) as { readonly told: Phase['told'] }).told;
  }

  /** East dials them: as many links as there are cases, up to twenty. */
  async #answers({ cases, seconds, seed }: Size): Promise<Phase['told']> {
    const count = Math.min(cases, 20);
    const { east } = this;
    const host = this.#strange;
    await east.bundle('to-answers', { cert: `${this.#keys}/tls.crt`, key: `${this.#keys}/tls.key`, ca: `${this.#keys}/ca.crt` });
    const answers = await host.spawn(
      [...ELSEWHERE, here('answers.ts'), host.v4, String(ANSWERS), String(count), this.#keys, String(seed)],
      { name: 'answers' },
    );
    await answers.ready(() => host.listens(ANSWERS + count - 1));
    const links = Array.from({ length: count }, (_, at) =>
      manifest('Link', `answers-${at}`, {
        tlsCredentials: 'to-answers',
        endpoints: [{ name: 'inter-router', host: host.v4, port: String(ANSWERS + at) }],
      }),
    );
    await east.apply(...links);
    await setTimeout(seconds * 1_000);
    for (const { metadata } of links) await east.remove('Link', metadata.name);
    const [said = '{}'] = await asked(answers);
    await answers.kill();
    // Its one line.
    return JSON.parse(said) as Phase['told'];
  }

  async #paced(): Promise<Paced> {
    // Its last line.
    return JSON.parse((await asked(this.#pacer)).at(-1) ?? '') as Paced;
  }

  async #watchMemory(signal: AbortSignal): Promise<number> {
    let most = 0;
    for (; !signal.aborted; await setTimeout(50)) most = Math.max(most, this.east.process.memory());
    return most;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned[Symbol.asyncDispose]();
  }
}

/** The whole lines of a program's output, once it has answered a SIGUSR2. */
async function asked(program: Program): Promise<readonly string[]> {
  const lines = (): readonly string[] => program.output.split('\n').slice(0, -1);
  const before = lines().length;
  program.signal('SIGUSR2');
  return eventually(`${program.name} to answer`, () => lines().length > before && lines(), { everyMs: 20 });
}
