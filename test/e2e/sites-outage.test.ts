/** Two routers of a site that lose sight of each other; those who lead that freeze; a node that goes: with clients that go on asking. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { LEADER_LABEL } from '../../src/api/skupper/cluster-names.ts';
import type { Condition, KubeObject, Pod } from '../../src/kube/objects.ts';
import { run } from '../harness/command.ts';
import { connectCluster, eventually } from '../harness/index.ts';
import { processesWhose } from '../harness/proc.ts';
import { auditFromNow, describeRequest, podOf, type AuditReader } from './support/audit.ts';
import { untilInstalled } from './support/installation.ts';
import { loadClient, loadServer, longestOutage } from './support/load.ts';
import { useNamespace, type Namespace } from './support/namespace.ts';
import { failures, isReady, linkBoth, routerImage, routers, settled, summary, type RouterPod } from './support/routers.ts';
import { fetched, SKUPPER, skupper, untilCondition } from './support/sites.ts';

const BACKEND = { host: 'backend', port: 8080, routingKey: 'backend' };

/** For which every new connection may fail: half of them go to the router that is gone until Kubernetes sends no more there. */
const OUTAGE_MS = 5_000;

type Observed = KubeObject & { readonly status?: { readonly message?: string; readonly conditions?: readonly Condition[] } };

interface Lease extends KubeObject {
  readonly spec: { readonly holderIdentity?: string };
}

describe('linked sites, two of them with two routers each', { timeout: 580_000 }, () => {
  const cluster = connectCluster();
  const [west, east, lone] = ['west', 'east', 'lone'].map((name) => useNamespace(name)) as [Namespace, Namespace, Namespace];
  const all = [west, east, lone];
  /** Of the one router of the site that has no other. */
  let lost = '';
  let isGone = false;

  before(async () => {
    await west.create(skupper('Site', 'west', { linkAccess: 'local', ha: true }), skupper('Listener', 'backend', BACKEND));
    await east.create(
      skupper('Site', 'east', { ha: true }),
      skupper('Connector', 'backend', { selector: 'app=backend', port: 8080, routingKey: 'backend' }),
    );
    await lone.create(skupper('Site', 'lone'), skupper('Listener', 'backend', BACKEND));
    for (const [namespace, name] of [
      [west, 'west'],
      [east, 'east'],
      [lone, 'lone'],
    ] as const)
      await untilCondition(namespace, 'Site', name);
    const [only] = await routers(lone);
    lost = only?.spec.nodeName ?? '';
    const node = cluster.nodes.find(({ name }) => name !== lost)?.name ?? '';
    const image = await routerImage(west);
    await east.create(loadServer('backend', image, { node }));
    await linkBoth(east, west);
    await linkBoth(lone, west, 'lone');
    await untilCondition(west, 'Listener', 'backend');
    await west.create(loadClient('client', image, 'backend', { node }));
    await west.running('client');
    await settled(west, Date.now());
  });
  after(async () => {
    if (isGone) await cluster.addNode(lost);
    await untilInstalled(cluster);
    await cluster.api.close();
  });

  it('have them on two nodes', async () => {
    for (const site of [west, east]) {
      const pods = await untilRouters(site, 2);
      assert.deepEqual(pods.map(({ spec }) => spec.nodeName).sort(), cluster.nodes.map(({ name }) => name).sort());
    }
  });

  it('lose nothing while the routers of one are partitioned, which its Site reports, and no condition flaps', async (t) => {
    const [one, other] = await untilRouters(west, 2);
    const earlier = await standings();
    const since = Date.now();
    const { status } = await between(one, other, () => untilMessage(west, 'west', /^OK; the routers .* are not linked to each other: /));
    t.diagnostic(status?.message ?? '');
    await untilMessage(west, 'west', /^OK$/);
    const requests = await settled(west, since);
    t.diagnostic(summary(requests));
    assert.deepEqual(failures(requests), []);
    assert.deepEqual(await standings(), earlier);
  });

  it('are looked after by others while the leading router and the leading controller are frozen, who write nothing any more', async (t) => {
    const router = await eventually('a leading router', () => leadingRouter(west));
    const controller = await eventually('a leading controller', leadingController);
    const audit = await auditFromNow(cluster);
    const since = Date.now();
    const frozen = [router, controller].map(processOf);
    for (const pid of frozen) process.kill(pid, 'SIGSTOP');
    try {
      await eventually('another leading router', async () => (await leadingRouter(west)) !== router);
      await west.create(skupper('Listener', 'meanwhile', { ...BACKEND, host: 'meanwhile' }));
      await untilCondition(west, 'Listener', 'meanwhile');
    } finally {
      for (const pid of frozen) process.kill(pid, 'SIGCONT');
    }
    const requests = await settled(west, since);
    t.diagnostic(summary(requests));
    const fresh = requests.filter(({ way }) => way === 'new');
    // A client at the frozen one waits; Kubernetes sends new connections there until its probe has failed three times.
    assert.ok(longestOutage(fresh) <= OUTAGE_MS, `no new connection for ${longestOutage(fresh)} ms`);
    await untilRouters(west, 2);
    await fetched(west, 'client', 'http://meanwhile:8080/');
    await audit.settle();
    const byFrozen = audit.changes(west.name).filter((request) => [router, controller].includes(podOf(request) ?? ''));
    assert.deepEqual(byFrozen.map(describeRequest), []);
    await lossless(t);
  });

  it('go on when a node goes: by the other router at once, and a site with one router when Kubernetes has given that up', async (t) => {
    const gone = (await Promise.all(all.map((site) => routers(site)))).flat().filter(({ spec }) => spec.nodeName === lost);
    assert.equal(gone.length, 3);
    const since = Date.now();
    isGone = true;
    await cluster.stopKubelet(lost);
    for (const { metadata } of gone) process.kill(processOf(metadata.name ?? ''), 'SIGKILL');
    await cluster.deleteNode(lost);
    const cut = await settled(west, since);
    t.diagnostic(summary(cut));
    const fresh = cut.filter(({ way }) => way === 'new');
    assert.ok(longestOutage(fresh) <= OUTAGE_MS, `no new connection for ${longestOutage(fresh)} ms`);
    // Kubernetes' own collector of such pods comes round only after a minute.
    for (const { name } of all) {
      const ofLost = ['--namespace', name, `--field-selector=spec.nodeName=${lost}`];
      await cluster.kubectl(['delete', 'pods', ...ofLost, '--force', '--grace-period=0', '--wait=false']);
    }
    for (const [site, count] of [
      [west, 2],
      [east, 2],
      [lone, 1],
    ] as const)
      await untilRouters(site, count);
    await untilCondition(lone, 'Link', 'lone-1');
    await fetched(west, 'client', `http://backend.${lone.name}:8080/`);
    await lossless(t);
  });

  it('come to rest', async () => {
    const audit = await eventually('nothing to be done', async () => {
      const reader = await auditFromNow(cluster);
      await lossless();
      await reader.settle();
      return changesOfSites(reader).length === 0 && reader;
    });
    assert.deepEqual(changesOfSites(audit), []);
    for (const name of ['token-1', 'token-2']) await untilCondition(east, 'Link', name);
    await untilMessage(west, 'west', /^OK$/);
  });

  /** What holds of each, and since when. */
  async function standings(): Promise<readonly unknown[]> {
    const each = [
      [west, 'Site', 'west'],
      [west, 'Listener', 'backend'],
      [east, 'Site', 'east'],
      [east, 'Link', 'token-1'],
      [east, 'Link', 'token-2'],
    ] as const;
    return Promise.all(
      each.map(async ([namespace, kind, name]) => {
        const found = await namespace.get<Observed>(SKUPPER, kind, name);
        return found?.status?.conditions?.map(({ type, status, lastTransitionTime }) => [name, type, status, lastTransitionTime]);
      }),
    );
  }

  function changesOfSites(audit: AuditReader): readonly string[] {
    return all.flatMap(({ name }) => audit.changes(name)).map(describeRequest);
  }

  async function lossless(t?: { diagnostic(message: string): void }): Promise<void> {
    const requests = await settled(west, Date.now());
    t?.diagnostic(summary(requests));
    assert.deepEqual(failures(requests), []);
  }

  async function leadingController(): Promise<string | undefined> {
    const { items } = await cluster.api.get<{ items: readonly Pod[] }>(
      `/api/v1/pods?labelSelector=${encodeURIComponent(`${LEADER_LABEL}=true`)}`,
    );
    return items[0]?.metadata.name;
  }
});

async function leadingRouter(site: Namespace): Promise<string | undefined> {
  return (await site.get<Lease>('coordination.k8s.io/v1', 'Lease', 'skupper-site-leader'))?.spec.holderIdentity;
}

async function untilRouters(site: Namespace, count: number): Promise<readonly RouterPod[]> {
  return eventually(`${count} routers in ${site.name}`, async () => {
    const pods = await routers(site);
    return pods.length === count && pods.every(isReady) && pods;
  });
}

function untilMessage(site: Namespace, name: string, message: RegExp) {
  return site.until<Observed>({ apiVersion: SKUPPER, kind: 'Site', name }, `to say ${message}`, ({ status }) =>
    message.test(status?.message ?? ''),
  );
}

/** Pods run on this very machine, so their processes can be seen from here. */
function processOf(pod: string): number {
  const [pid, ...others] = processesWhose('environ', (text) => text.split('\0').includes(`HOSTNAME=${pod}`));
  assert.ok(pid !== undefined && others.length === 0, `processes of ${pod}: ${[pid, ...others].join(', ')}`);
  return pid;
}

/** While no packet of one pod reaches another, nor the other way round; all else does. */
async function between<T>(one: RouterPod | undefined, other: RouterPod | undefined, work: () => Promise<T>): Promise<T> {
  const [pid, ip] = [processOf(one?.metadata.name ?? ''), other?.status.podIP ?? ''];
  const rules = [
    ['INPUT', '--source'],
    ['OUTPUT', '--destination'],
  ] as const;
  const each = async (change: string): Promise<void> => {
    for (const [chain, end] of rules) {
      await run('nsenter', ['--target', String(pid), '--net', 'iptables', change, chain, end, ip, '--jump', 'DROP']);
    }
  };
  await each('--append');
  try {
    return await work();
  } finally {
    await each('--delete');
  }
}
