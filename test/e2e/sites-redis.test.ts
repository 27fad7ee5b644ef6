/** A Redis that is spread over three sites: a master and two replicas, three sentinels, and a client that asks these who the master is. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { loadExampleImages } from '../harness/example-images.ts';
import { eventually } from '../harness/index.ts';
import { pod, type Manifest } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';
import { linkByToken, skupper, untilCondition } from './support/sites.ts';

const SITES = ['east', 'west', 'north'] as const;
const PORTS = { server: 6379, sentinel: 26_379 } as const;
const PARTS = ['server', 'sentinel'] as const;
type Part = (typeof PARTS)[number];

/** What others call it, in every namespace: a listener's Service leads there. */
const hostOf = (part: Part, site: string): string => `redis-${part}-${site}`;

describe('a Redis with sentinels over three sites', { timeout: 300_000 }, () => {
  const east = useNamespace('east');
  const west = useNamespace('west');
  const north = useNamespace('north');
  const namespaces = { east, west, north };
  const cli = async (site: string, ...args: readonly string[]): Promise<string> =>
    (await north.exec('client', ['redis-cli', '-h', hostOf('server', site), ...args])).trim();
  const sentinel = async (site: string, ...args: readonly string[]): Promise<string> =>
    (await north.exec('client', ['redis-cli', '-h', hostOf('sentinel', site), '-p', `${PORTS.sentinel}`, 'sentinel', ...args])).trim();
  /** What the client has written: a number each time, and to which host. */
  const written = async (): Promise<readonly (readonly [number: number, host: string])[]> => {
    const printed = await north.cluster.kubectl(['logs', '--namespace', north.name, 'client']);
    return [...printed.matchAll(/^(\d+) (\S+)$/gm)].map(([, number, host = '']) => [Number(number), host]);
  };
  const role = async (site: string): Promise<string> => /role:(\w+)/.exec(await cli(site, 'info', 'replication'))?.[1] ?? '';

  before(async () => {
    await loadExampleImages(east.cluster);
    for (const site of SITES) {
      const namespace = namespaces[site];
      await namespace.create(
        skupper('Site', site, { linkAccess: 'default' }),
        ...SITES.flatMap((of) => PARTS.map((part) => listener(part, of))),
        ...PARTS.map((part) => connector(part, site)),
        server(site),
        pod(hostOf('sentinel', site), { ...REDIS, labels: { app: hostOf('sentinel', site) }, script: sentinelScript(site) }),
      );
    }
    await linkByToken(east, west, 'of-east');
    await linkByToken(north, west, 'of-north');
    await north.create(pod('client', { ...REDIS, script: CLIENT }));
    await north.running('client');
  });

  it('has its replicas and sentinels find each other by the names of Services', async () => {
    for (const site of SITES) {
      await eventually(`the sentinel at ${site} to know the others`, async () => {
        assert.match(await sentinel(site, 'ckquorum', 'shop'), /^OK 3 usable Sentinels/);
        const hosts = SITES.map((each) => hostOf('server', each));
        const master = (await sentinel(site, 'get-master-addr-by-name', 'shop')).split('\n')[0] ?? '';
        const replicas = await sentinel(site, 'replicas', 'shop');
        assert.deepEqual(
          hosts.filter((host) => host === master || replicas.includes(host)),
          hosts,
        );
        return true;
      });
    }
    await eventually('the client to write', async () => (await written()).length > 0);
  });

  it('goes on being written to when its master dies, and keeps what two others had', async () => {
    const master = await masterNow();
    assert.equal(await cli(master, 'set', 'kept', 'by all'), 'OK');
    await eventually('both replicas to have it', async () => {
      const replicas = SITES.filter((site) => site !== master);
      return (await Promise.all(replicas.map((site) => cli(site, 'get', 'kept')))).every((value) => value === 'by all');
    });
    await namespaces[master].remove('v1', 'Pod', hostOf('server', master));
    const [number, promoted] = await eventually('another to be written to', async () =>
      (await written()).findLast(([, host]) => host !== hostOf('server', master)),
    );
    await eventually('it to go on', async () => ((await written()).at(-1)?.[0] ?? 0) > number + 5);
    const site = SITES.find((each) => hostOf('server', each) === promoted);
    assert.ok(site, promoted);
    assert.equal(await cli(site, 'get', 'kept'), 'by all');
    await untilCondition(north, 'Listener', hostOf('server', master), 'Matched', { value: 'False' });

    await namespaces[master].create(server(master));
    await eventually('the old master to be a replica with all that is there', async () => {
      assert.equal(await role(master), 'slave');
      assert.equal(await cli(master, 'get', 'kept'), 'by all');
      return true;
    });
  });

  async function masterNow(): Promise<(typeof SITES)[number]> {
    const [host = ''] = (await sentinel('north', 'get-master-addr-by-name', 'shop')).split('\n');
    const site = SITES.find((each) => hostOf('server', each) === host);
    assert.ok(site, host);
    return site;
  }
});

const REDIS = { image: 'redis:7' } as const;

/** Asks one sentinel after the other who the master is, and writes the next number there. */
const CLIENT = `
n=1
while :; do
  for site in ${SITES.join(' ')}; do
    set -- $(timeout 2 redis-cli -h redis-sentinel-$site -p ${PORTS.sentinel} sentinel get-master-addr-by-name shop 2>/dev/null)
    [ $# -eq 2 ] && break
  done
  if [ $# -eq 2 ] && [ "$(timeout 2 redis-cli -h $1 -p $2 set number $n 2>&1)" = OK ]; then echo "$n $1"; n=$((n + 1)); fi
  sleep 0.1
done`;

function server(site: string): Manifest {
  const replica = site === SITES[0] ? '' : `--replicaof ${hostOf('server', SITES[0])} ${PORTS.server} --repl-timeout 5`;
  const announced = `--replica-announce-ip ${hostOf('server', site)} --replica-announce-port ${PORTS.server}`;
  const script = `exec redis-server --protected-mode no --dir /tmp --save '' ${announced} ${replica}`;
  return pod(hostOf('server', site), { ...REDIS, labels: { app: hostOf('server', site) }, script });
}

/** The first packet to a Service that the node does not know yet is lost, with all that repeat it: each try has a connection of its own. */
function sentinelScript(site: string): string {
  const master = hostOf('server', SITES[0]);
  return `
until timeout 2 redis-cli -h ${master} ping 2>/dev/null | grep -q PONG; do sleep 0.1; done
cat > /tmp/sentinel.conf <<END
port ${PORTS.sentinel}
dir /tmp
protected-mode no
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip ${hostOf('sentinel', site)}
sentinel announce-port ${PORTS.sentinel}
sentinel monitor shop ${master} ${PORTS.server} 2
sentinel down-after-milliseconds shop 4000
sentinel failover-timeout shop 10000
END
exec redis-server /tmp/sentinel.conf --sentinel`;
}

function listener(part: Part, site: string): Manifest {
  const name = hostOf(part, site);
  return skupper('Listener', name, { host: name, port: PORTS[part], routingKey: name });
}

function connector(part: Part, site: string): Manifest {
  const name = hostOf(part, site);
  return skupper('Connector', name, { selector: `app=${name}`, port: PORTS[part], routingKey: name });
}
