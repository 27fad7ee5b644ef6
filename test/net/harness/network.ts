import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { run } from '../../harness/command.ts';
import { HarnessError } from '../../harness/failures.ts';
import { addNamespace, ipBatch } from '../../harness/wires.ts';
import { Host, type HostPlace, type Plug } from './host.ts';
import { forget, record, removeLeftovers, removeNamespaces } from './leftovers.ts';

export interface NetworkOptions<Name extends string> {
  readonly hosts: readonly Name[];
  /** Which hosts share a wire: a bridge for each. Left out: one, `lan`, with all hosts. */
  readonly segments?: Readonly<Record<string, readonly Name[]>>;
  /** The test that it is for: when that fails, logs and folders stay, and the test's output says where. */
  readonly test?: TestContext;
}

/** Folder of all networks. Short: paths of Unix sockets below it have to fit into 107 bytes. */
const NETWORKS = '/tmp/earshot-net';

/**
 * Hosts that see only each other: network namespaces, joined by bridges in one more namespace, so that nothing of it is in the machine's
 * own network. Hosts know each other by name. Segment S, host H (from 1, in the order given): 10.66.S.H and fd66:S::H.
 */
export class Network<Name extends string = string> implements AsyncDisposable {
  readonly name: string;
  readonly dir: string;
  readonly logs: string;
  readonly #hosts: ReadonlyMap<string, Host>;
  readonly #namespaces: readonly string[];
  readonly #keep: boolean;

  constructor(name: string, hosts: ReadonlyMap<string, Host>, namespaces: readonly string[], keep: boolean) {
    this.name = name;
    this.dir = `${NETWORKS}/${name}`;
    this.logs = `${this.dir}/logs`;
    this.#hosts = hosts;
    this.#namespaces = namespaces;
    this.#keep = keep;
  }

  host(name: Name): Host {
    const host = this.#hosts.get(name);
    if (host === undefined) throw new TypeError(`there is no host ${name}; there are ${[...this.#hosts.keys()].join(', ')}`);
    return host;
  }

  /** Ends every process on every host and removes the network, with all folders where no test is to be explained by them. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#hosts.values()].map((host) => host.end()));
    await removeNamespaces(this.#namespaces);
    await forget(this.name);
    if (!this.#keep) await rm(this.dir, { recursive: true, force: true });
  }
}

/** Makes a network, after removing those whose owners are gone. */
export async function createNetwork<const Name extends string>(options: NetworkOptions<Name>): Promise<Network<Name>> {
  const { hosts, segments = { lan: hosts }, test } = options;
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    throw new HarnessError('NOT_POSSIBLE_HERE', 'network namespaces need Linux and root: run the same command with sudo');
  }
  await removeLeftovers();
  const name = `${process.pid.toString(36)}-${randomBytes(2).toString('hex')}`;
  const switches = `es-${name}`;
  const places = hosts.map((host) => placeOf(name, host, hosts, segments));
  const namespaces = [switches, ...places.map(({ netns }) => netns)];
  // Recorded first: after any failure from now on, it is known what to remove.
  await record({ name, namespaces });
  try {
    await mkdir(`${NETWORKS}/${name}/logs`, { recursive: true });
    await makeSwitches(switches, places);
    for (const place of places) await makeHost(place, places);
  } catch (error) {
    await removeNamespaces(namespaces);
    await forget(name);
    throw error;
  }
  const created = new Map(places.map((place) => [place.name, new Host(place)]));
  const keep = test !== undefined || process.env['EARSHOT_KEEP_LOGS'] === '1';
  const network = new Network<Name>(name, created, namespaces, keep);
  // Only after the test's function, and so after the network is gone, is it known how the test went.
  test?.after(async () => {
    if (test.passed && process.env['EARSHOT_KEEP_LOGS'] !== '1') await rm(network.dir, { recursive: true, force: true });
    else test.diagnostic(`logs and folders of the hosts: ${network.dir}`);
  });
  return network;
}

function placeOf(
  network: string,
  name: string,
  hosts: readonly string[],
  segments: Readonly<Record<string, readonly string[]>>,
): HostPlace {
  if (!/^[a-z][-a-z0-9]{0,19}$/.test(name)) throw new TypeError(`${JSON.stringify(name)} cannot be a host's name`);
  const h = hosts.indexOf(name) + 1;
  const plugs = Object.entries(segments).flatMap(([segment, members], index): Plug[] => {
    if (!members.includes(name)) return [];
    const s = index + 1;
    return [{ segment, device: `eth${index}`, port: `p${s}-${h}`, bridge: `br${s}`, v4: `10.66.${s}.${h}`, v6: `fd66:${s}::${h}` }];
  });
  const [first, ...others] = plugs;
  if (first === undefined) throw new TypeError(`${name} is on no segment`);
  const dir = `${NETWORKS}/${network}/${name}`;
  return {
    name,
    netns: `es-${network}-${name}`,
    switches: `es-${network}`,
    dir,
    logs: `${NETWORKS}/${network}/logs`,
    plugs: [first, ...others],
  };
}

async function makeSwitches(netns: string, places: readonly HostPlace[]): Promise<void> {
  await run('ip', ['netns', 'add', netns]);
  const bridges = new Set(places.flatMap(({ plugs }) => plugs.map(({ bridge }) => bridge)));
  // Without a spanning tree a port forwards at once; without snooping, neighbour discovery needs no querier.
  await ipBatch(
    [...bridges].flatMap((bridge) => [`link add ${bridge} type bridge stp_state 0 mcast_snooping 0`, `link set ${bridge} up`]),
    netns,
  );
}

async function makeHost(place: HostPlace, all: readonly HostPlace[]): Promise<void> {
  const { netns, switches, plugs, dir } = place;
  await addNamespace(
    netns,
    plugs.map((plug) => ({ ...plug, addresses: [plug.v4, plug.v6] })),
    switches,
  );
  await mkdir(dir, { recursive: true });
  await mkdir(`/etc/netns/${netns}`, { recursive: true });
  // Refused at once: without it, a name that /etc/hosts lacks would be asked for somewhere outside.
  await writeFile(`/etc/netns/${netns}/resolv.conf`, 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n');
  await new Host(place).names(Object.fromEntries(all.map((other) => [other.name, addressesFor(place, other)])));
}

/** How one host knows another: by its addresses on the segments that they share. */
function addressesFor(place: HostPlace, other: HostPlace): readonly string[] {
  const shared = new Set(place.plugs.map(({ segment }) => segment));
  return other.plugs.filter(({ segment }) => shared.has(segment)).flatMap(({ v4, v6 }) => [v4, v6]);
}
