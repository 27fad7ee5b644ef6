/** Two linked sites in a cluster, whose routers are asked with a user's kubeconfig. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { ConnectionRecord } from '../../src/router/contract.ts';
import { eventually } from '../harness/index.ts';
import { earshot, kubeconfigOf, openConsole } from './support/at-home.ts';
import { earshotImage, nodeCommand } from './support/earshot.ts';
import { pod, webServer } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';
import { linkByToken, skupper, untilCondition } from './support/sites.ts';

/** Keeps one silent connection open, and opens another one if it ends. */
const HOLD = `const { connect } = require('node:net');
  const hold = () => connect(8080, 'live').on('error', () => {}).on('close', () => setTimeout(hold, 500));
  hold();`;

interface Step {
  readonly id: string;
  readonly state: string;
  readonly says: string;
}

describe('the routers of a site in a cluster', { timeout: 400_000 }, () => {
  const west = useNamespace('asks');
  const east = useNamespace('answers');
  const certificate = (name: string, purpose: string) =>
    skupper('Certificate', name, { ca: 'skupper-local-ca', subject: name, client: true, settings: { purpose } });

  before(async () => {
    await west.create(
      skupper('Site', 'west', { ha: true }),
      skupper('Listener', 'live', { host: 'live', port: 8080, routingKey: 'live' }),
      skupper('Listener', 'down', { host: 'down', port: 8080, routingKey: 'down' }),
      certificate('reader', 'api'),
      certificate('operator', 'api-control'),
      pod('client', { image: await earshotImage(west.cluster), command: nodeCommand(HOLD) }),
    );
    await east.create(
      skupper('Site', 'east', { linkAccess: 'default', settings: { observe: 'network' } }),
      skupper('Connector', 'live', { routingKey: 'live', selector: 'app=live', port: 8080 }),
      skupper('Connector', 'down', { routingKey: 'down', selector: 'app=live', port: 9, settings: { probe: 'none' } }),
      pod('live', { labels: { app: 'live' }, script: webServer(8080) }),
    );
    await linkByToken(west, east, 'to-east');
    for (const name of ['reader', 'operator']) await west.until({ apiVersion: 'v1', kind: 'Secret', name }, 'is there', () => true);
    await untilCondition(west, 'Listener', 'live');
    await untilCondition(west, 'Listener', 'down');
  });

  async function list(...words: readonly string[]): Promise<readonly ConnectionRecord[]> {
    const { stdout, stderr } = await earshot(west, ['debug', 'conn', ...words, '-o', 'json']);
    assert.notEqual(stdout, '', stderr);
    return (JSON.parse(stdout) as { readonly items: readonly ConnectionRecord[] }).items;
  }

  it('list a live connection, explain it, and end it', async () => {
    const open = await eventually('the connection', async () => (await list('--key', 'live')).find(({ to }) => to.siteName === 'east'));
    assert.deepEqual([open.from.siteName, open.from.listener, open.state], ['west', 'Listener/live', 'open']);
    const explained = await earshot(west, ['explain', 'connection', open.id, '-o', 'json']);
    const { steps } = JSON.parse(explained.stdout) as { readonly steps: readonly Step[] };
    assert.ok(
      steps.some(({ id, says }) => id === 'connection.path' && says === 'west > east'),
      explained.stdout,
    );
    const ended = await earshot(west, ['debug', 'conn', open.id, '--end']);
    assert.equal(ended.stdout, `Connection ${open.id} was ended.\n`, ended.stderr);
    const end = await eventually('its end', async () => (await list(open.id)).find(({ state }) => state === 'ended')?.end);
    assert.equal(end, 'command');
  });

  it('find by a probe that a server of the other site is down', async () => {
    const { code, stdout } = await earshot(west, ['explain', 'lnr', 'down', '--probe', '-o', 'json']);
    const { cause, steps } = JSON.parse(stdout) as { readonly cause?: Step; readonly steps: readonly Step[] };
    assert.deepEqual([code, cause?.id], [1, 'listener.server'], stdout);
    assert.match(cause?.says ?? '', /^the server at east does not accept connections: /);
    assert.ok(
      steps.some(({ id, state }) => id === 'listener.hops' && state === 'pass'),
      stdout,
    );
  });

  it('have figures of another site that shares them', async () => {
    await using console = await openConsole(west);
    await eventually('figures of east', async () => {
      const { sites } = (await console.get('network')) as {
        readonly sites: readonly { readonly name: string; readonly figures?: object }[];
      };
      return sites.some(({ name, figures }) => name === 'east' && figures !== undefined);
    });
  });

  it('are not asked by a user who may not read the Secret of a certificate, and the answer names the right', async () => {
    const kubeconfig = await kubeconfigOf(west, 'view');
    const create = ['--namespace', west.name, 'create'];
    await west.cluster.kubectl([...create, 'role', 'forwards', '--verb=get,create', '--resource=pods/portforward']);
    await west.cluster.kubectl([...create, 'rolebinding', 'forwards', '--role=forwards', `--serviceaccount=${west.name}:view`]);
    const refused = `your user may not get secrets/reader in the namespace ${west.name}`;
    await eventually('the right to forward', async () => {
      const { code, stderr } = await earshot(west, ['debug', 'conn'], kubeconfig);
      return code === 1 && stderr.includes(refused);
    });
    // This role may not list kinds that hold codes of tokens.
    const { stdout } = await earshot(west, ['explain', 'lnr', 'live', '-o', 'json'], kubeconfig);
    const { steps } = JSON.parse(stdout) as { readonly steps: readonly Step[] };
    assert.ok(
      steps.some(({ id, state }) => id === 'listener.spec' && state === 'pass'),
      stdout,
    );
  });
});
