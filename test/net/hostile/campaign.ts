/**
 * A router under attack, and a client that has nothing to do with it. East lets links in; west is linked to it, and west's client asks a web server
 * in the east; the attackers are on a host of their own. Another system may take the router's place.
 */
import { copyFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Program } from '../../harness/program.ts';
import {
  connector,
  createNetwork,
  linkByToken,
  listener,
  manifest,
  placeLinkFiles,
  ENDLESS_PAGES,
  startNginx,
  startNode,
  startSite,
  type Authority,
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

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** In the east: a web server, one that sends without end, and an address without a host, which never answers. */
export function serversOf(east: Host): Readonly<Record<'web' | 'endless' | 'silent', Address>> {
  return {
    web: { host: '127.0.0.1', port: WEB },
    endless: { host: '127.0.0.1', port: ENDLESS },
    silent: { host: east.v4.replace(/\d+$/, '250'), port: SILENT },
  };
}

/** Program that carries a client's requests from west to east, and is attacked meanwhile. */
export interface Carrier {
  /** Its end in the east. */
  readonly process: Program;
  readonly pacer: Program;
  /** Address at which the east accepts links of the west, over mutual TLS. */
  readonly link: Address;
  /** The same, to the server that sends without end, where each connection has one of TLS for itself. */
  readonly endless?: Address;
  /** In the west, where clients come whose server does not answer. */
  readonly silent: Address;
}

export interface Phase {
  readonly name: string;
  /** Number of cases by result. */
  readonly result: Readonly<Record<string, number>>;
  readonly paced: Paced;
  /** MB of resident memory of the attacked process: before, the most meanwhile. */
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
  readonly earshot: Carrier;
  /** Authority of the certificates that the attackers have, with its key. */
  readonly authority: Authority;
  readonly #strange: Host;
  readonly #owned: AsyncDisposable;

  private constructor(
    parts: Pick<Campaign, 'east' | 'west' | 'earshot' | 'authority'> & { readonly strange: Host },
    owned: AsyncDisposable,
  ) {
    ({ east: this.east, west: this.west, earshot: this.earshot, authority: this.authority, strange: this.#strange } = parts);
    this.#owned = owned;
  }

  /** @param perSecond requests of the client */
  static async start(options: {
    readonly test?: TestContext;
    readonly perSecond: number;
    readonly args?: readonly string[];
    /** Environment of the attacked router. */
    readonly env?: Readonly<Record<string, string>>;
  }): Promise<Campaign> {
    const { test, perSecond, args = [], env = {} } = options;
    await using stack = new AsyncDisposableStack();
    const net = stack.use(await createNetwork({ hosts: ['west', 'east', 'strange'], ...(test === undefined ? {} : { test }) }));
    const [client, server, strange] = [net.host('west'), net.host('east'), net.host('strange')];
    const { web, silent } = serversOf(server);
    const keys = { endless: ENDLESS, stuck: STUCK };
    const east = await startSite(server, {
      access: true,
      args,
      env,
      resources: [
        ...Object.entries(keys).map(([key, port]) => connector(key, '127.0.0.1', port)),
        connector('web', web.host, web.port),
        // No host has its address, so probes would keep its Listener from being Ready.
        connector('silent', silent.host, silent.port, { settings: { probe: 'none' } }),
      ],
    });
    const west = await startSite(client, { resources: [listener('web', '127.0.0.1', WEB), listener('silent', client.v4, SILENT)] });
    await startNginx(server, { port: WEB });
    await startNode(server, ENDLESS, ENDLESS_PAGES, ELSEWHERE);
    await startNode(server, STUCK, 'socket.pause();', ELSEWHERE);
    await linkByToken(west, east);
    const placed = await placeLinkFiles(east, east.host.v4, strange);
    // As if the attackers had the site's own authority: odd certificates need its signature.
    await copyFile(`${east.layout.internal.ca}/tls.key`, `${placed.certificates}/ca.key`);
    // A grant that is never redeemed keeps the port for tokens open.
    await east.earshot(['token', 'issue', `${placed.certificates}/token.yaml`]);
    for (const name of ['web', 'silent']) await west.waitFor('Listener', name);
    const earshot = {
      process: east.process,
      pacer: await startPacer(client, WEB, perSecond),
      link: { host: server.v4, port: Number(placed.port) },
      silent: { host: client.v4, port: SILENT },
    };
    const dir = placed.certificates;
    const authority = { dir, cert: `${dir}/ca.crt`, key: `${dir}/ca.key` };
    return new Campaign({ east, west, earshot, authority, strange }, stack.move());
  }

  /** The client alone, for so many seconds. */
  async quiet(seconds: number, { pacer }: Carrier = this.earshot): Promise<Paced> {
    pacer.signal('SIGUSR2');
    await setTimeout(seconds * 1_000);
    return paced(pacer);
  }

  /** One attack from its beginning to its end: on Earshot, or, if others support it too, on another in its place. */
  async strike(name: StrikeName, size: Size, carrier: Carrier = this.earshot): Promise<Phase> {
    const { process: attacked, pacer } = carrier;
    const before = { memory: attacked.memory(), cpu: attacked.cpuSeconds() };
    const watch = new AbortController();
    const most = watchMemory(attacked, watch.signal);
    pacer.signal('SIGUSR2');
    let result: Phase['result'];
    try {
      result = await this.#perform(name, size, carrier);
    } finally {
      watch.abort();
      await most;
    }
    return {
      name,
      result,
      paced: await paced(pacer),
      memory: { before: before.memory, most: await most },
      cpu: attacked.cpuSeconds() - before.cpu,
    };
  }

  #perform(name: StrikeName, size: Size, { link, endless, silent }: Carrier): Promise<Phase['result']> {
    switch (name) {
      case 'crowd':
        return endless === undefined ? this.#attack(name, link, size) : this.#attack('holders', endless, size);
      case 'answers':
        return this.#answers(size);
      case 'grants':
        return this.#attack(name, { host: this.east.host.v4, port: GRANTS }, size);
      case CONTROL:
        return this.#elsewhere(size);
      case 'leavers':
        return this.#attack(name, silent, size);
      default:
        return this.#attack(name, link, size);
    }
  }

  async #elsewhere(size: Size): Promise<Phase['result']> {
    const at = { host: this.#strange.v4, port: BYSTANDER };
    const argv = [...ELSEWHERE, here('bystander.ts'), at.host, String(at.port), this.authority.dir];
    const server = await this.#strange.spawn(argv, { name: 'bystander' });
    await server.ready(() => this.#strange.listens(BYSTANDER));
    const result = await this.#attack('certificates', at, size);
    await server.kill();
    return result;
  }

  async #attack(name: AttackName | 'holders', { host, port }: Address, { cases, seconds, seed }: Size): Promise<Phase['result']> {
    const args = [name, host, String(port), this.authority.dir, ...[cases, seconds, seed].map(String)];
    const said = await this.#strange.run([...ELSEWHERE, here('horde.ts'), ...args], { timeoutMs: (seconds + 30) * 1_000 });
    // The horde's one line.
    return (JSON.parse(said) as { readonly result: Phase['result'] }).result;
  }

  /** East dials them: as many links as there are cases, up to twenty. */
  async #answers({ cases, seconds, seed }: Size): Promise<Phase['result']> {
    const count = Math.min(cases, 20);
    const {
      east,
      authority: { dir },
    } = this;
    const host = this.#strange;
    await east.bundle('to-answers', { cert: `${dir}/tls.crt`, key: `${dir}/tls.key`, ca: `${dir}/ca.crt` });
    const answers = await host.spawn([...ELSEWHERE, here('answers.ts'), host.v4, String(ANSWERS), String(count), dir, String(seed)], {
      name: 'answers',
    });
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
    return JSON.parse(said) as Phase['result'];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned[Symbol.asyncDispose]();
  }
}

/** A client that waits until it is to begin: `Campaign.quiet`, `Campaign.strike`. @param port of the host's loopback */
export async function startPacer(host: Host, port: number, perSecond: number): Promise<Program> {
  const pacer = await host.spawn([process.execPath, here('pacer.ts'), String(port), String(perSecond)], { name: `pacer-${port}` });
  await pacer.ready(() => pacer.output.includes('ready'));
  return pacer;
}

/** Ends what a pacer was asked to begin. */
async function paced(pacer: Program): Promise<Paced> {
  // Its last line.
  return JSON.parse((await asked(pacer)).at(-1) ?? '') as Paced;
}

async function watchMemory(of: Program, signal: AbortSignal): Promise<number> {
  let most = 0;
  for (; !signal.aborted; await setTimeout(50)) most = Math.max(most, of.memory());
  return most;
}

/** The whole lines of a program's output, once it has answered a SIGUSR2. */
async function asked(program: Program): Promise<readonly string[]> {
  const lines = (): readonly string[] => program.output.split('\n').slice(0, -1);
  const before = lines().length;
  program.signal('SIGUSR2');
  await program.ready(() => lines().length > before);
  return lines();
}
