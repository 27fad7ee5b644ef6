/** Router pods of sites that have two routers each, and of one that has one: killed, deleted, rolled out, while clients go on asking. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Condition, KubeObject } from '../../src/kube/objects.ts';
import { run } from '../harness/command.ts';
import { eventually } from '../harness/index.ts';
import { loadClient, loadServer, longestOutage, requestsSince } from './support/load.ts';
import type { Manifest } from './support/manifests.ts';
import { useNamespace, type Namespace } from './support/namespace.ts';
import { failures, GROUPS, isReady, linkBoth, routerImage, routers, settled, summary, type RouterPod } from './support/routers.ts';
import { SKUPPER, skupper, untilCondition } from './support/sites.ts';

describe('sites with two routers each', { timeout: 300_000 }, () => {
  const west = useNamespace('west');
  const east = useNamespace('east');

  before(async () => {
    await west.create(
      skupper('Site', 'west', { linkAccess: 'local', ha: true }),
      skupper('Listener', 'backend', { host: 'backend', port: 8080, routingKey: 'backend' }),
    );
    await east.create(
      skupper('Site', 'east', { ha: true }),
      skupper('Connector', 'backend', { selector: 'app=backend', port: 8080, routingKey: 'backend' }),
    );
    await untilCondition(west, 'Site', 'west');
    await untilCondition(east, 'Site', 'east');
  });

  it('have two links that a token made', async () => {
    const image = await routerImage(west);
    await east.create(loadServer('backend', image));
    await linkBoth(east, west);
    await untilCondition(west, 'Listener', 'backend');
    await west.create(loadClient('client', image, 'backend'));
    await west.running('client');
    await kubectlWaits(east, ['links', '--all']);
    await eventually('answers', async () =>
      (await requestsSince(west, 'client', 0)).some(({ way, error }) => way === 'long' && error === undefined),
    );
  });

  it('report a router whose links are cut, and keep the links', async () => {
    const [pod] = await routers(east, 'skupper-router');
    const messages = async (): Promise<readonly string[]> =>
      Promise.all(['token-1', 'token-2'].map(async (name) => operational(await east.get<Manifest>(SKUPPER, 'Link', name))));
    const name = pod?.metadata.name ?? '';
    await withoutLinks(east, pod, () =>
      eventually('what both Links say', async () => {
        const said = await messages();
        return said.every((message) => message.startsWith(`True OK; the router ${name} does not have this link: `));
      }),
    );
    await eventually('both Links to be whole', async () => (await messages()).every((message) => message === 'True OK'));
  });

  it('are not the first processes of their pods, whose unhandled signals the kernel would drop', async () => {
    const read = `process.stdout.write(require('node:fs').readFileSync('/proc/1/cmdline', 'utf8'))`;
    for (const { metadata } of await routers(west)) {
      const first = await west.cluster.kubectl([
        'exec',
        '--namespace',
        west.name,
        metadata.name ?? '',
        '--',
        '/usr/local/bin/node',
        '-e',
        read,
      ]);
      assert.doesNotMatch(first, /router/, 'the first process');
    }
  });

  it('lose nothing while router pods are deleted in order', async (t) => {
    const since = Date.now();
    for (const [namespace, group] of inTurn(west, east)) {
      const [gone] = await routers(namespace, group);
      await deletePod(namespace, gone);
      await untilReplaced(namespace, group, gone);
    }
    const requests = await settled(west, since);
    t.diagnostic(summary(requests));
    assert.deepEqual(failures(requests), []);
  });

  it('serve on when router pods are killed', async (t) => {
    const since = Date.now();
    for (const [namespace, group] of inTurn(west, east)) {
      const [gone] = await routers(namespace, group);
      await deletePod(namespace, gone, 0);
      await untilReplaced(namespace, group, gone);
    }
    const requests = await settled(west, since);
    t.diagnostic(summary(requests));
    const fresh = requests.filter(({ way }) => way === 'new');
    const short = requests.filter(({ way }) => way !== 'long');
    assert.ok(longestOutage(fresh) <= 1_000, `no new connection for ${longestOutage(fresh)} ms`);
    const share = failures(short).length / short.length;
    assert.ok(share <= 0.05, `${share} of all short requests failed`);
  });

  it('lose nothing by a rollout of both routers', async (t) => {
    await lossless(t, west, () => rollOut(west, 'west'));
  });

  it('lose nothing when the second router is given up', async (t) => {
    await lossless(t, west, async () => {
      for (const [namespace, site] of [
        [west, 'west'],
        [east, 'east'],
      ] as const) {
        await namespace.patch(SKUPPER, 'Site', site, { spec: { ha: false } });
        await eventually('one router', async () => (await routers(namespace, 'skupper-router-2')).length === 0);
      }
    });
  });

  it('lose nothing by a rollout of the only router, of either site', async (t) => {
    await lossless(t, west, async () => {
      await rollOut(west, 'west');
      await rollOut(east, 'east');
    });
  });
});

const inTurn = (...namespaces: readonly Namespace[]): readonly (readonly [Namespace, string])[] =>
  namespaces.flatMap((namespace) => GROUPS.map((group) => [namespace, group] as const));

function operational(link: (Manifest & { readonly status?: { readonly conditions?: readonly Condition[] } }) | undefined): string {
  const condition = link?.status?.conditions?.find(({ type }) => type === 'Operational');
  return `${condition?.status} ${condition?.message}`;
}

/** While this runs, packets of the pod to another site's port for links are answered as if no host had its address. */
async function withoutLinks({ cluster }: Namespace, pod: RouterPod | undefined, work: () => Promise<unknown>): Promise<void> {
  const { netns = '' } = cluster.nodes.find((node) => node.name === pod?.spec?.nodeName) ?? {};
  const rule = ['FORWARD', '-s', pod?.status?.podIP ?? '', '-p', 'tcp', '--dport', '55671', '-j', 'REJECT', '--reject-with', 'tcp-reset'];
  const inNode = (action: string): Promise<string> => run('ip', ['netns', 'exec', netns, 'iptables', '--wait', action, ...rule]);
  await inNode('--insert');
  try {
    await work();
  } finally {
    await inNode('--delete');
  }
}

async function deletePod({ cluster, name }: Namespace, pod: KubeObject | undefined, grace?: number): Promise<void> {
  const now = grace === undefined ? [] : ['--force', `--grace-period=${grace}`];
  await cluster.kubectl(['delete', 'pod', '--namespace', name, '--wait=false', ...now, pod?.metadata.name ?? '']);
}

async function untilReplaced(namespace: Namespace, group: string, gone: KubeObject | undefined): Promise<void> {
  await eventually('another pod', async () => {
    const pods = await routers(namespace, group);
    return pods.length === 1 && pods[0]?.metadata.uid !== gone?.metadata.uid && isReady(pods[0]);
  });
}

/** As scripts do it. */
async function kubectlWaits({ cluster, name }: Namespace, what: readonly string[]): Promise<void> {
  await cluster.kubectl(['wait', '--namespace', name, '--for=condition=Ready=true', '--timeout=60s', ...what]);
}

/** What a person changes there makes new pods. */
async function rollOut(namespace: Namespace, site: string): Promise<void> {
  const old = new Map(await Promise.all(GROUPS.map(async (group) => [group, (await routers(namespace, group))[0]] as const)));
  await namespace.patch(SKUPPER, 'Site', site, { spec: { settings: { 'router-data-connection-count': String(Date.now() % 1_000) } } });
  for (const [group, gone] of old) if (gone !== undefined) await untilReplaced(namespace, group, gone);
}

async function lossless(t: { diagnostic(message: string): void }, client: Namespace, change: () => Promise<void>): Promise<void> {
  const since = Date.now();
  await change();
  const requests = await settled(client, since);
  t.diagnostic(summary(requests));
  assert.deepEqual(failures(requests), []);
}
