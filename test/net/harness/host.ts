import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { execute, outputOf, run, type CommandOptions, type Outcome } from '../../harness/command.ts';
import { environment, Program } from '../../harness/program.ts';
import { eventually, type WaitOptions } from '../../harness/wait.ts';
import { ipBatch, isV6, onLink } from '../../harness/wires.ts';

/** A host's place in one segment. */
export interface Plug {
  readonly segment: string;
  /** The host's own interface. */
  readonly device: string;
  /** The other end of the cable, in the switches' namespace. */
  readonly port: string;
  readonly bridge: string;
  readonly v4: string;
  readonly v6: string;
}

export interface HostPlace {
  readonly name: string;
  readonly netns: string;
  readonly switches: string;
  /** Its own folder, mode 0755: programs of other users may read it. */
  readonly dir: string;
  readonly logs: string;
  readonly plugs: readonly [Plug, ...Plug[]];
}

export interface ProgramOptions extends Pick<CommandOptions, 'cwd'> {
  /** For messages and the log's name; the program's own name by default. */
  readonly name?: string;
  /** All that it sees of the environment but PATH, HOME and LANG. */
  readonly env?: Readonly<Record<string, string>>;
}

/** One host: a network namespace with addresses of its own, and the programs that run on it. */
export class Host {
  readonly name: string;
  readonly dir: string;
  /** The first segment's addresses. */
  readonly v4: string;
  readonly v6: string;
  readonly #place: HostPlace;
  readonly #programs: Program[] = [];

  /** Hosts are made by `createNetwork`. */
  constructor(place: HostPlace) {
    this.name = place.name;
    this.dir = place.dir;
    this.#place = place;
    const [{ v4, v6 }] = place.plugs;
    this.v4 = v4;
    this.v6 = v6;
  }

  /** Name of its network namespace. */
  get netns(): string {
    return this.#place.netns;
  }

  /** Its addresses on one segment. */
  on(segment: string): { readonly v4: string; readonly v6: string } {
    return this.#plug(segment);
  }

  /** Runs a program to its end. @returns its standard output @throws HarnessError with its standard error when it fails */
  async run(argv: readonly string[], options: CommandOptions = {}): Promise<string> {
    return outputOf(`${argv.join(' ').slice(0, 300)} on ${this.name}`, await this.attempt(argv, options));
  }

  /** Runs a program to its end, however it ends; it is killed after a minute by default. */
  attempt(argv: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
    return execute(this.#within(argv), { timeoutMs: 60_000, ...options, env: environment(options.env) });
  }

  /** Starts a program that runs until it is ended, or the network is. Its output goes to a log. */
  async spawn(argv: readonly string[], options: ProgramOptions = {}): Promise<Program> {
    const name = options.name ?? argv[0]?.split('/').at(-1) ?? 'program';
    const log = `${this.#place.logs}/${this.name}-${name}-${this.#programs.length}.log`;
    const program = await Program.start(`${name} on ${this.name}`, this.#within(argv), {
      cwd: options.cwd,
      env: environment(options.env),
      log,
    });
    this.#programs.push(program);
    return program;
  }

  /** Waits until something listens on a TCP port. */
  async listening(port: number, options: WaitOptions = {}): Promise<void> {
    await eventually(`port ${port} of ${this.name} to listen`, () => this.listens(port), { everyMs: 20, ...options });
  }

  /** Whether something listens on a TCP port, on whatever address. */
  async listens(port: number): Promise<boolean> {
    return (await this.run(['ss', '-Hltn', `sport = :${port}`])).trim() !== '';
  }

  /** A fresh folder of this host. With a user's name it is that user's. */
  async folder(name: string, owner?: string): Promise<string> {
    const path = `${this.dir}/${name}-${randomBytes(3).toString('hex')}`;
    await mkdir(path);
    if (owner !== undefined) await run('chown', [`${owner}:`, path]);
    return path;
  }

  /**
   * Pulls the cable: `ip link set DEVICE down` on this host, which sees that. Its connections stay, and go on where they were when it is
   * put back in time.
   */
  async cut(segment?: string): Promise<void> {
    await this.#ip(['link', 'set', this.#plug(segment).device, 'down']);
  }

  /** Lets every packet to and from this host vanish in the switch; neither end sees more than silence. */
  async silence(segment?: string): Promise<void> {
    await this.#ipOfSwitch(['link', 'set', this.#plug(segment).port, 'nomaster']);
  }

  /** Silences it for so many seconds, by one process: whatever holds the test up does not make it longer. */
  async silenceFor(seconds: number, segment?: string): Promise<void> {
    const { port, bridge } = this.#plug(segment);
    const script = `ip link set ${port} nomaster && sleep ${seconds} && ip link set ${port} master ${bridge}`;
    await run('ip', ['netns', 'exec', this.#place.switches, 'sh', '-c', script]);
  }

  /** Undoes `cut` and `silence`. */
  async restore(segment?: string): Promise<void> {
    const { device, port, bridge, v6 } = this.#plug(segment);
    await this.#ipOfSwitch(['link', 'set', port, 'master', bridge]);
    await this.#ip(['link', 'set', device, 'up']);
    // Taking a device down takes its IPv6 addresses away.
    await ipBatch([`addr replace ${onLink(v6, device)}`], this.#place.netns);
  }

  /** Drops what comes from and goes to an address, without a word, until `heal`. With a port, only TCP to and from that port of the peer. */
  async drop(address: string, port?: number): Promise<void> {
    const tables = isV6(address) ? 'ip6tables' : 'iptables';
    const to = port === undefined ? [] : ['-p', 'tcp', '--dport', String(port)];
    const from = port === undefined ? [] : ['-p', 'tcp', '--sport', String(port)];
    await this.run([tables, '-w', '-A', 'OUTPUT', '-d', address, ...to, '-j', 'DROP']);
    await this.run([tables, '-w', '-A', 'INPUT', '-s', address, ...from, '-j', 'DROP']);
  }

  /** Undoes every `drop`. */
  async heal(): Promise<void> {
    await this.run(['iptables', '-w', '-F']);
    await this.run(['ip6tables', '-w', '-F']);
  }

  /** Gives this host a further address on its first segment, or takes it away. */
  async address(what: 'add' | 'remove', address: string): Promise<void> {
    const { device } = this.#plug();
    await ipBatch([`addr ${what === 'add' ? 'replace' : 'del'} ${onLink(address, device)}`], this.#place.netns);
  }

  /** Names on this host: the whole of its /etc/hosts besides localhost. */
  async names(names: Readonly<Record<string, readonly string[]>>): Promise<void> {
    const lines = Object.entries(names).flatMap(([name, addresses]) => addresses.map((address) => `${address} ${name}`));
    // Written in place: the file is mounted into the programs that run, and they would not see another one of its name.
    await writeFile(`/etc/netns/${this.#place.netns}/hosts`, ['127.0.0.1 localhost', '::1 localhost', ...lines, ''].join('\n'));
  }

  /** Ends all its programs, and whatever they started. */
  async end(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.kill()));
    await killAllIn(this.#place.netns);
  }

  /** Not nsenter: `ip netns exec` also gives the host names of its own, by /etc/netns/NAME. Both replace themselves by the program. */
  #within(argv: readonly string[]): readonly string[] {
    return ['ip', 'netns', 'exec', this.#place.netns, ...argv];
  }

  #plug(segment?: string): Plug {
    const found = segment === undefined ? this.#place.plugs[0] : this.#place.plugs.find((plug) => plug.segment === segment);
    if (found === undefined) throw new TypeError(`${this.name} is not on the segment ${segment}`);
    return found;
  }

  async #ip(args: readonly string[]): Promise<void> {
    await run('ip', ['-n', this.#place.netns, ...args]);
  }

  async #ipOfSwitch(args: readonly string[]): Promise<void> {
    await run('ip', ['-n', this.#place.switches, ...args]);
  }
}

/** Kills every process in a namespace of ours, also those that their parents have left behind, and returns once they are gone. */
export async function killAllIn(netns: string): Promise<void> {
  await eventually(
    `processes in ${netns} to end`,
    async () => {
      const pids = (await run('ip', ['netns', 'pids', netns]))
        .split('\n')
        .filter((line) => line !== '')
        .map(Number);
      for (const pid of pids) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It ended between the look and the signal.
        }
      }
      // One that was just forked is in the next list.
      return pids.length === 0;
    },
    { everyMs: 20 },
  );
}
