import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Site } from '../../src/api/skupper/index.ts';
import { eventually } from '../harness/index.ts';
import { useNamespace } from './support/namespace.ts';
import { client, fetched, linkByToken, SKUPPER, skupper, untilCondition, webDeployment } from './support/sites.ts';

describe('two sites in namespaces of a cluster', { timeout: 300_000 }, () => {
  const west = useNamespace('west');
  const east = useNamespace('east');

  before(async () => {
    await west.create(
      skupper('Site', 'west', { linkAccess: 'local' }),
      skupper('Listener', 'backend', { host: 'backend', port: 8080, routingKey: 'e2e-backend' }),
    );
    await east.create(
      skupper('Site', 'east'),
      skupper('Connector', 'backend', { selector: 'app=backend', port: 8080, routingKey: 'e2e-backend' }),
      webDeployment('backend', 3),
    );
    await west.create(await client('client', west.cluster));
  });

  it('have a Service for each Listener before any link is there', async () => {
    const { spec, metadata } = await west.untilService('backend', 'is there', () => true);
    assert.deepEqual(spec?.selector, { application: 'skupper-router', 'skupper.io/component': 'router' });
    assert.deepEqual(
      spec?.ports?.map(({ name, port }) => [name, port]),
      [['backend', 8080]],
    );
    assert.equal(metadata.annotations?.['internal.skupper.io/controlled'], 'true');
  });

  it('become ready', async () => {
    for (const [namespace, name] of [
      [west, 'west'],
      [east, 'east'],
    ] as const) {
      await untilCondition(namespace, 'Site', name);
    }
  });

  it('are linked by a token, and a client of one reaches the pods of the other', async () => {
    await linkByToken(east, west, 'to-west');
    await untilCondition(west, 'Listener', 'backend');
    await untilCondition(east, 'Connector', 'backend');
    await west.running('client');
    assert.match(await fetched(west, 'client', 'http://backend:8080/'), /^backend-/);
    await west.until<Site>(
      { apiVersion: SKUPPER, kind: 'Site', name: 'west' },
      'sees both sites',
      ({ status }) => status?.sitesInNetwork === 2,
    );
  });

  it('leave nothing behind when they are deleted', async () => {
    await west.remove(SKUPPER, 'Site', 'west');
    await eventually('the Service to be gone', async () => (await west.get('v1', 'Service', 'backend')) === undefined);
  });
});
