/** What a thief can do with the token of a site's router: the real token, against the real API server. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { LOCAL_CA, NETWORK_DATA, NETWORK_STATUS, RENEWALS, ROUTER, SITE_CA, SITE_SERVER } from '../../src/api/skupper/cluster-names.ts';
import { routerRights } from '../../src/api/skupper/router-rights.ts';
import type { ConfigMap, PolicyRule, Secret } from '../../src/kube/objects.ts';
import { createKey, createRequest } from '../../src/x509/request.ts';
import { HarnessError } from '../harness/index.ts';
import { connect, type ApiRequests } from '../harness/api-requests.ts';
import { useNamespace } from './support/namespace.ts';
import { skupper, untilCondition } from './support/sites.ts';

interface Rules {
  readonly status: { readonly resourceRules: readonly PolicyRule[] };
}

/** What every account may ask about itself. */
const ABOUT_ITSELF = /^(?:authorization|authentication)\.k8s\.io$/;

function sorted(rules: readonly PolicyRule[]): readonly string[] {
  return rules
    .filter(({ apiGroups = [] }) => !apiGroups.every((group) => ABOUT_ITSELF.test(group)))
    .map(({ apiGroups, resources, resourceNames = [], verbs }) =>
      JSON.stringify([apiGroups, resources?.toSorted(), resourceNames.toSorted(), verbs.toSorted()]),
    )
    .toSorted();
}

describe("the token of a site's router", { timeout: 200_000 }, () => {
  const west = useNamespace('thief');
  const east = useNamespace('neighbour');
  const inWest = (plural: string, group = 'api/v1'): string => `/${group}/namespaces/${west.name}/${plural}`;
  const SKUPPER_API = 'apis/skupper.io/v2alpha1';
  let thief: ApiRequests;

  const forbidden = (attempt: Promise<unknown>): Promise<void> =>
    assert.rejects(attempt, (error) => error instanceof HarnessError && /: 403 .*cannot \w+ resource/.test(error.message));

  before(async () => {
    await west.create(
      skupper('Site', 'west', { linkAccess: 'local' }),
      skupper('Certificate', 'link-west', { ca: SITE_CA, client: true, subject: 'west' }),
      skupper('AccessGrant', 'grant', { redemptionsAllowed: 1 }),
      skupper('Certificate', 'api', { ca: LOCAL_CA, client: true, subject: 'api', settings: { purpose: 'api' } }),
      skupper('Listener', 'greedy', { routingKey: 'a', host: 'greedy', port: 80, tlsCredentials: 'api' }),
    );
    await east.create(skupper('Site', 'east', { linkAccess: 'local' }));
    await untilCondition(west, 'Site', 'west');
    await untilCondition(west, 'AccessGrant', 'grant');
    await west.until({ apiVersion: 'v1', kind: 'Secret', name: 'api' }, 'is there', () => true);
    await untilCondition(west, 'Listener', 'greedy', 'Configured', { value: 'False' });
    const { cluster } = west;
    const token = await cluster.token(west.name, ROUTER);
    thief = connect({ url: cluster.apiUrl, ca: cluster.state.credentials.ca, token });
  });
  after(() => thief.close());

  const rightsIn = async (namespace: string): Promise<readonly string[]> => {
    const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } };
    const { status } = await thief.create<Rules>('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', body);
    return sorted(status.resourceRules);
  };

  it('may do what a router needs in its own namespace, and nothing else in any', async () => {
    assert.deepEqual(await rightsIn(west.name), sorted(routerRights(['skupper-local-server', 'skupper-site-key', SITE_SERVER], [])));
    for (const namespace of [east.name, 'default', 'kube-system', 'skupper']) assert.deepEqual(await rightsIn(namespace), [], namespace);
  });

  it('reads no key of an authority, no record, no code, no spec that it could change', async () => {
    for (const name of [SITE_CA, LOCAL_CA, 'skupper-site-ledger', 'skupper-site-grants', 'skupper-pending-keys', 'link-west', 'api']) {
      await forbidden(thief.get(`${inWest('secrets')}/${name}`));
    }
    await forbidden(thief.get(inWest('secrets')));
    await forbidden(thief.get(`/api/v1/namespaces/${east.name}/secrets/skupper-site-key`));
    await forbidden(thief.get(`${inWest('accessgrants', SKUPPER_API)}/grant`));
    await forbidden(thief.create(`${inWest('serviceaccounts')}/${ROUTER}/token`, { spec: {} }));
  });

  it('is more than a pod of the namespace has, which reads no Secret', async () => {
    const { cluster } = west;
    const token = await cluster.token(west.name, 'default');
    const pod = connect({ url: cluster.apiUrl, ca: cluster.state.credentials.ca, token });
    for (const name of ['api', 'skupper-site-key', SITE_CA]) await forbidden(pod.get(`${inWest('secrets')}/${name}`));
    await pod.close();
  });

  it('changes no resource, no right, no workload, no Service and no servers', async () => {
    await forbidden(thief.patch(`${inWest('sites', SKUPPER_API)}/west`, { spec: { linkAccess: 'none' } }));
    await forbidden(thief.patch(`${inWest('sites', SKUPPER_API)}/west/status`, { status: {} }));
    await forbidden(thief.patch(`${inWest('certificates', SKUPPER_API)}/link-west/status`, { status: {} }));
    await forbidden(thief.patch(`${inWest('roles', 'apis/rbac.authorization.k8s.io/v1')}/${ROUTER}`, { rules: [] }));
    await forbidden(thief.patch(`${inWest('deployments', 'apis/apps/v1')}/${ROUTER}`, { spec: { replicas: 0 } }));
    await forbidden(thief.patch(`${inWest('services')}/${ROUTER}`, { spec: { selector: {} } }));
    await forbidden(thief.patch(`${inWest('configmaps')}/${ROUTER}`, { data: {} }));
    await forbidden(thief.patch(`${inWest('secrets')}/${SITE_SERVER}`, { data: {} }));
    await forbidden(
      thief.create(inWest('endpointslices', 'apis/discovery.k8s.io/v1'), { metadata: { name: 'x' }, addressType: 'IPv4', endpoints: [] }),
    );
    await forbidden(thief.create(inWest('configmaps'), { metadata: { name: 'x' } }));
    const lease = thief.create(inWest('leases', 'apis/coordination.k8s.io/v1'), { metadata: { name: 'x' } });
    await assert.rejects(lease, /make only the Lease skupper-site-leader/);
    await forbidden(thief.create(inWest('pods'), { metadata: { name: 'x' }, spec: { containers: [] } }));
  });

  describe('writes what it likes where routers write, and', () => {
    const renewals = async (): Promise<ConfigMap> => thief.get<ConfigMap>(`${inWest('configmaps')}/${RENEWALS}`);
    const answered = async (id: string): Promise<string> => {
      const { data = {} } = await west.until<ConfigMap>(
        { apiVersion: 'v1', kind: 'ConfigMap', name: RENEWALS },
        `answers ${id}`,
        (seen) => seen.data?.[`${id}.answer`] !== undefined,
      );
      return data[`${id}.answer`] ?? '';
    };

    it('gets no certificate by it', async () => {
      const { data = {} } = await thief.get<Secret>(`${inWest('secrets')}/${SITE_SERVER}`);
      const certificate = Buffer.from(data['tls.crt'] ?? '', 'base64')
        .toString()
        .replaceAll(/-----[A-Z ]+-----|\s/g, '');
      const siteId = '11111111-1111-8111-8111-111111111111';
      const asked = [
        JSON.stringify({ certificate, siteId, request: createRequest(createKey(), ROUTER) }),
        JSON.stringify({ certificate: certificate.slice(0, 90), siteId, request: 'x' }),
        '['.repeat(30_000),
        'x'.repeat(100_000),
      ];
      const entries = asked.map((text, index) => [`${index}`.padStart(32, '0'), text] as const);
      await thief.patch(`${inWest('configmaps')}/${RENEWALS}`, { data: Object.fromEntries(entries) });
      for (const [id] of entries) assert.match(await answered(id), /"refused"/);
    });

    it('prevents no answer, nor the controller from becoming idle, by filling up all of it', async () => {
      const at = new Date().toISOString();
      const filler = Array.from({ length: 26 }, (_, index) => [
        `${`${index}`.padStart(32, 'b')}.answer`,
        JSON.stringify({ at, x: 'x'.repeat(31_000) }),
      ]);
      const junk = Array.from({ length: 3_000 }, (_, index) => [`junk-${index}`, '']);
      await thief.patch(`${inWest('configmaps')}/${RENEWALS}`, { data: Object.fromEntries([...filler, ...junk]) });
      const id = 'c'.repeat(32);
      await thief.patch(`${inWest('configmaps')}/${RENEWALS}`, { data: { [id]: 'x' } });
      assert.match(await answered(id), /malformed/);
      const standing = await renewals();
      assert.ok(Object.keys(standing.data ?? {}).length < 100);
      await west.create(skupper('Listener', 'later', { routingKey: 'a', host: 'later', port: 80 }));
      await west.untilService('later', 'is there', () => true);
      assert.equal((await renewals()).metadata.resourceVersion, standing.metadata.resourceVersion);
    });

    it('misleads others only for a moment about the network, and disturbs no other site', async () => {
      const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
      for (const sites of [deep, JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ name: `\u001b[31m${index}` }))), '{']) {
        await thief.patch(`${inWest('configmaps')}/${NETWORK_STATUS}`, {
          data: { [NETWORK_DATA.sites]: sites, junk: 'x'.repeat(100_000) },
        });
      }
      await west.until<ConfigMap>(
        { apiVersion: 'v1', kind: 'ConfigMap', name: NETWORK_STATUS },
        'is what the router says',
        ({ data }) => data?.[NETWORK_DATA.sites]?.includes('"name":"west"') === true,
      );
      await east.create(skupper('Listener', 'later', { routingKey: 'a', host: 'later', port: 80 }));
      await east.untilService('later', 'is there', () => true);
      await untilCondition(west, 'Site', 'west');
    });
  });
});
