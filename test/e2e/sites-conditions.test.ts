/** What people and scripts read of each kind: `kubectl wait`, and what a token says that is of no use. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { skupperResources, type AccessGrant, type AccessToken, type Connector } from '../../src/api/skupper/index.ts';
import type { Explanation } from '../../src/explain/step.ts';
import { earshot } from './support/at-home.ts';
import { auditFromNow, describeRequest, type AuditReader } from './support/audit.ts';
import { pod, webServer, type Manifest } from './support/manifests.ts';
import { useNamespace, type Namespace } from './support/namespace.ts';
import { SKUPPER, skupper, untilCondition } from './support/sites.ts';

describe('conditions of two sites', { timeout: 300_000 }, () => {
  const west = useNamespace('west');
  const east = useNamespace('east');
  let audit: AuditReader;

  before(async () => {
    audit = await auditFromNow(west.cluster);
    await west.create(
      skupper('Site', 'west', { linkAccess: 'default' }),
      skupper('AccessGrant', 'to-west'),
      listener('web'),
      listener('attached'),
      skupper('MultiKeyListener', 'many', { host: 'many', port: 8080, strategy: { priority: { routingKeys: ['web', 'attached'] } } }),
      skupper('AttachedConnectorBinding', 'attached', { connectorNamespace: east.name, routingKey: 'attached' }),
      skupper('Certificate', 'own', { ca: 'skupper-site-ca', subject: 'own', hosts: ['own'], server: true }),
      skupper('SecuredAccess', 'reached', { selector: { app: 'web' }, ports: [{ name: 'https', port: 8443 }], issuer: 'skupper-site-ca' }),
    );
    await east.create(
      skupper('Site', 'east'),
      pod('web', { labels: { app: 'web' }, script: webServer(8080) }),
      skupper('Connector', 'web', { routingKey: 'web', selector: 'app=web', port: 8080 }),
      skupper('AttachedConnector', 'attached', { siteNamespace: west.name, selector: 'app=web', port: 8080 }),
    );
  });

  it('are what `kubectl wait` waits for, of every kind', async () => {
    const inWest = {
      Site: 'west',
      RouterAccess: 'skupper-router',
      SecuredAccess: 'reached',
      Certificate: 'own',
      AccessGrant: 'to-west',
      Listener: 'web',
      MultiKeyListener: 'many',
      AttachedConnectorBinding: 'attached',
    };
    const inEast = { AccessToken: 'to-west', Link: 'to-west', Connector: 'web', AttachedConnector: 'attached', Site: 'east' };
    await untilCondition(west, 'RouterAccess', 'skupper-router', 'Configured');
    await wait(west, { AccessGrant: 'to-west' });
    await east.create(await tokenOf(west, 'to-west'));
    await wait(east, { AccessToken: 'to-west' }, 'Redeemed');
    await Promise.all([wait(west, inWest), wait(east, inEast)]);
    const waited = new Set([...Object.keys(inWest), ...Object.keys(inEast)]);
    assert.deepEqual([...waited].sort(), Object.keys(skupperResources).sort());
  });

  it('name the label that a mistyped selector of a Connector means, also in explain', async () => {
    await east.create(skupper('Connector', 'typo', { routingKey: 'typo', selector: 'app=wbe', port: 8080 }));
    const meant = /No matches for selector: .*"app=wbe"; did you mean "app=web"\?/;
    await east.until<Connector>({ apiVersion: SKUPPER, kind: 'Connector', name: 'typo' }, `says ${meant}`, ({ status }) =>
      meant.test(status?.message ?? ''),
    );
    const { cause } = JSON.parse((await earshot(east, ['explain', 'connector', 'typo', '-o', 'json'])).stdout) as Explanation;
    assert.equal(cause?.id, 'connector.pods');
    assert.match(cause?.says ?? '', meant);
    await east.remove(SKUPPER, 'Connector', 'typo');
  });

  it('explain what to do about a token that is used up, expired, or of a deleted site, without endless retries', async () => {
    await west.create(skupper('AccessGrant', 'short', { expirationWindow: '1s' }), skupper('AccessGrant', 'left'));
    const used = await tokenOf(west, 'to-west');
    const [short, left] = [await tokenOf(west, 'short'), await tokenOf(west, 'left')];
    await west.until<AccessGrant>({ apiVersion: SKUPPER, kind: 'AccessGrant', name: 'short' }, 'says that it has expired', ({ status }) =>
      /it has expired/.test(status?.message ?? ''),
    );
    await east.create(named(used, 'used-up'), named(short, 'expired'));
    await useless('used-up', /is used up \(1 of 1 redemptions\): ask for a new token/);
    await useless('expired', /expired at \S+: ask for a new token/);

    await west.remove(SKUPPER, 'Site', 'west');
    await untilCondition(west, 'AccessGrant', 'left', 'Ready', { value: 'False' });
    await east.create(named(left, 'gone'));
    await useless('gone', /grant \S+ does not exist: it was deleted, or the token belongs to another site\. Ask for a new token/i);

    await audit.settle();
    const writes = audit.writes(east.name).filter(({ objectRef }) => objectRef?.resource === 'accesstokens');
    const byName = Map.groupBy(writes, ({ objectRef }) => objectRef?.name ?? '');
    assert.deepEqual([...byName.keys()].sort(), ['expired', 'gone', 'to-west', 'used-up']);
    // It is being redeemed, and has failed.
    for (const [name, all] of byName) assert.ok(all.length <= 3, `${name}: ${all.map(describeRequest).join(', ')}`);
    // The one from before stands, and says nothing new.
    assert.equal((await untilCondition<AccessToken>(east, 'AccessToken', 'to-west', 'Redeemed')).status?.message, 'OK');
  });

  async function useless(name: string, message: RegExp): Promise<void> {
    const token = await east.until<AccessToken>({ apiVersion: SKUPPER, kind: 'AccessToken', name }, `says ${message}`, ({ status }) =>
      message.test(status?.conditions?.find(({ type }) => type === 'Redeemed')?.message ?? ''),
    );
    const { status = 'none', reason } = token.status?.conditions?.find(({ type }) => type === 'Redeemed') ?? {};
    assert.deepEqual([status, reason, token.status?.redeemed], ['False', 'Error', false]);
  }
});

const listener = (name: string): Manifest => skupper('Listener', name, { host: name, port: 8080, routingKey: name });

/** The token of a grant, as its status has it. */
async function tokenOf(namespace: Namespace, grant: string): Promise<AccessToken> {
  const { status } = await untilCondition<AccessGrant>(namespace, 'AccessGrant', grant);
  const { url = '', code = '', ca = '' } = status ?? {};
  return skupper('AccessToken', grant, { url, code, ca } satisfies AccessToken['spec']) as AccessToken;
}

const named = (token: AccessToken, name: string): AccessToken => ({ ...token, metadata: { name } });

/** As scripts do it. */
async function wait({ cluster, name }: Namespace, objects: Readonly<Record<string, string>>, condition = 'Ready'): Promise<void> {
  const which = Object.entries(objects).map(([kind, object]) => `${kind.toLowerCase()}.skupper.io/${object}`);
  await cluster.kubectl(['wait', '--namespace', name, `--for=condition=${condition}`, '--timeout=60s', ...which]);
}
