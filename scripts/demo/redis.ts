import { DemoError } from './narrator.ts';
import type { Shell } from './shell.ts';
import type { Tour } from './tour.ts';

export interface Place {
  readonly address: string;
  readonly port: number;
}

/** A Redis server in a pod, and where it is reached as its volume says. */
export interface Member extends Place {
  readonly pod: string;
  readonly uid: string;
  readonly podIp: string;
  readonly node: string;
  readonly busPort: number;
}

/** What a member says of itself and the others (CLUSTER NODES). */
export interface Seat extends Place {
  /** Neither failed nor being suspected of it, and connected. */
  readonly well: boolean;
}

/** The files hold their values and no newline. */
export const READ_VOLUME = 'cd /listener/default-address; echo "$(cat address) $(cat ports/redis) $(cat ports/bus)"';

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly uid: string };
    readonly spec: { readonly nodeName: string };
    readonly status: { readonly podIP: string };
  }[];
}

/** Reads each pod's volume, in the pod. */
export async function readMembers(shell: Shell): Promise<readonly Member[]> {
  // kubectl prints what the API server answers.
  const { items } = JSON.parse(await shell.run('kubectl get pods --selector app=redis --output json', { silent: true })) as PodList;
  return Promise.all(
    items.map(async ({ metadata, spec, status }) => {
      const said = await shell.run(`kubectl exec ${metadata.name} --container redis -- sh -c '${READ_VOLUME}'`, { silent: true });
      return { pod: metadata.name, uid: metadata.uid, podIp: status.podIP, node: spec.nodeName, ...parseVolume(metadata.name, said) };
    }),
  );
}

function parseVolume(pod: string, said: string): Pick<Member, 'address' | 'port' | 'busPort'> {
  const [, address, port, busPort] = /^(\S+) (\d+) (\d+)\s*$/.exec(said) ?? [];
  if (address === undefined)
    throw new DemoError(`expected an address and two ports in the volume of ${pod}\nbut saw: ${JSON.stringify(said)}`);
  return { address, port: Number(port), busPort: Number(busPort) };
}

export function at(place: Place): string {
  return `${place.address}:${place.port}`;
}

/** `redis-cli` and its options for reaching a member. */
export function cli(place: Place): string {
  return `redis-cli -h ${place.address} -p ${place.port}`;
}

/** Lines `<id> <ip:port@cport[,hostname]> <flags> <master> <ping-sent> <pong-recv> <config-epoch> <link-state> <slot> …`. */
export function parseSeats(clusterNodes: string): readonly Seat[] {
  return clusterNodes
    .trim()
    .split('\n')
    .map((line) => {
      const [, place = '', flags = '', , , , , link] = line.split(' ');
      const [, address = '', port] = /^(.*):(\d+)@/.exec(place) ?? [];
      return { address, port: Number(port), well: link === 'connected' && !/fail|handshake|noaddr/.test(flags) };
    });
}

export async function seatsSeenBy(shell: Shell, place: Place): Promise<readonly Seat[]> {
  return parseSeats(await shell.run(`${cli(place)} cluster nodes`, { silent: true }));
}

/** Waits until every member takes commands and sees all members well; returns what each sees. */
export async function untilWhole({ narrator, shell }: Tour, members: readonly Member[]): Promise<readonly (readonly Seat[])[]> {
  return narrator.until('every server to see all of them well, and to take commands', async () => {
    const states = await Promise.all(members.map((member) => shell.run(`${cli(member)} cluster info`, { silent: true })));
    const views = await Promise.all(members.map((member) => seatsSeenBy(shell, member)));
    const seen = members.map(({ pod }, index) => {
      const [, state = 'unknown'] = /^cluster_state:(\w+)/m.exec(states[index] ?? '') ?? [];
      return { pod, state, well: views[index]?.filter(({ well }) => well).length ?? 0, known: views[index]?.length ?? 0 };
    });
    const whole = seen.every(({ state, well, known }) => state === 'ok' && well === members.length && known === members.length);
    return { found: whole ? views : undefined, seen: seen.map(({ pod, state, well }) => `${pod}: ${state}, ${well} well`).join('; ') };
  });
}

/** One answer to a client that follows redirections, and the server it came from. */
export interface Answer {
  readonly server: string;
  readonly reply: string;
}

export interface Transcript {
  readonly answers: readonly Answer[];
  readonly redirections: number;
}

/** What `redis-cli -c --no-raw` printed for a file of commands, first asked at `first`. */
export function parseTranscript(printed: string, first: string): Transcript {
  const answers: Answer[] = [];
  let server = first;
  let redirections = 0;
  for (const line of printed.trim().split('\n')) {
    const [, other] = /^-> Redirected to slot \[\d+\] located at (\S+)$/.exec(line) ?? [];
    if (other === undefined) {
      // Below a reply that took half a second or more, redis-cli prints how long it took: (0.51s).
      if (!/^\(\d+\.\d+s\)$/.test(line)) answers.push({ server, reply: line });
      continue;
    }
    server = other;
    redirections += 1;
  }
  return { answers, redirections };
}
