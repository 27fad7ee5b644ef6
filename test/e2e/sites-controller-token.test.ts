/**
 * What a thief can not do with the token of the controller of sites: the real token, against the real API server. Every attempt is a dry
 * run, or refused.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { KubeObject } from '../../src/kube/objects.ts';
import { HarnessError } from '../harness/index.ts';
import { connect, type ApiRequests } from '../harness/api-requests.ts';
import { useNamespace } from './support/namespace.ts';
import { skupper } from './support/sites.ts';

const DRY = '?dryRun=All';

interface Controller extends KubeObject {
  readonly spec: { readonly serviceAccountName: string; readonly containers: readonly { readonly image: string }[] };
}

describe('the token of the controller of sites', { timeout: 120_000 }, () => {
  const west = useNamespace('controlled');
  let thief: ApiRequests;
  let owner: object;
  let image: string;
  after(() => thief?.close());

  before(async () => {
    const { cluster } = west;
    const path = '/api/v1/pods?labelSelector=application%3Dskupper-controller';
    const { items } = await cluster.api.get<{ items: readonly Controller[] }>(path);
    const [controller] = items;
    assert.ok(controller !== undefined, 'a controller runs');
    // Its routers' as well, as installed here.
    image = controller.spec.containers[0]?.image ?? '';
    await west.create(skupper('Site', 'west', {}));
    await cluster.api.create(`/api/v1/namespaces/${west.name}/secrets`, { metadata: { name: 'users-own' }, data: {} });
    const site = await cluster.api.get<KubeObject>(`/apis/skupper.io/v2alpha1/namespaces/${west.name}/sites/west`);
    owner = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', name: 'west', uid: site.metadata.uid };
    const token = await cluster.token(controller.metadata.namespace ?? '', controller.spec.serviceAccountName);
    thief = connect({ url: cluster.apiUrl, ca: cluster.state.credentials.ca, token });
  });

  const at = (group: string, plural: string, namespace: string, name = ''): string =>
    `/${group}/namespaces/${namespace}/${plural}${name === '' ? '' : `/${name}`}${DRY}`;
  const owned = (name: string, more: object = {}): { readonly metadata: object } => ({
    metadata: { name, ownerReferences: [owner], ...more },
  });
  const refused = (attempt: Promise<unknown>, why: RegExp): Promise<void> =>
    assert.rejects(attempt, (error) => {
      assert.ok(error instanceof HarnessError, String(error));
      assert.match(error.message, why);
      return true;
    });
  const deployment = (name: string, spec: object, container: object = {}): object => {
    const labels = { app: 'x' };
    const containers = [{ name: 'router', image, args: ['router'], ...container }];
    return {
      ...owned(name),
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers, ...spec } } },
    };
  };

  it('writes nothing that no Site has, and nothing in the namespaces of the cluster', async () => {
    const secret = { metadata: { name: 'mine' }, type: 'Opaque' };
    await refused(thief.create(at('api/v1', 'secrets', west.name), secret), /only what belongs to a resource of skupper\.io/);
    await refused(thief.create(at('api/v1', 'secrets', 'kube-system'), owned('mine')), /nothing in namespaces of the cluster/);
    await refused(thief.patch(at('api/v1', 'secrets', west.name, 'users-own'), owned('users-own')), /changes and deletes only/);
    await refused(thief.remove(at('api/v1', 'secrets', west.name, 'users-own')), /changes and deletes only/);
  });

  it('gets the token of no other account', async () => {
    const token = owned('mine', { annotations: { 'kubernetes.io/service-account.name': 'default' } });
    const body = { ...token, type: 'kubernetes.io/service-account-token' };
    await refused(thief.create(at('api/v1', 'secrets', west.name), body), /of the type Opaque or kubernetes\.io\/tls/);
    for (const [name, spec, container] of [
      ['mine', {}, {}],
      ['skupper-router', { hostPID: true }, {}],
      ['skupper-router', { volumes: [{ name: 'node', hostPath: { path: '/' } }] }, {}],
      ['skupper-router', {}, { command: ['sh'] }],
      ['skupper-router', {}, { env: [{ name: 'NODE_OPTIONS', value: '--import=x' }] }],
      ['skupper-router', {}, { securityContext: { privileged: true } }],
    ] as const) {
      const attempt = thief.create(at('apis/apps/v1', 'deployments', west.name), deployment(name, spec, container));
      await refused(attempt, /ValidatingAdmissionPolicy '\S+-deployments'/);
    }
  });

  it('changes no definition so that its objects are out of reach, or judged by a webhook', async () => {
    const definition = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/sites.skupper.io${DRY}`;
    const webhook = { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://192.0.2.1/' } };
    await refused(thief.patch(definition, { spec: { conversion: { strategy: 'Webhook', webhook } } }), /403 .*conversion webhook/);
    const unserved = [{ op: 'replace', path: '/spec/versions/0/served', value: false }];
    await refused(thief.patch(definition, unserved, 'application/json-patch+json'), /403 .*stop serving a version/);
    await refused(thief.patch(definition, { metadata: { finalizers: ['example.com/stay'] } }), /403 .*finalizers of a definition/);
  });

  it('hides nothing behind managed fields: what they do not name counts as written where they are reset', async () => {
    const container = { name: 'evil', image: 'example.com/evil' };
    const body = deployment('skupper-router', { containers: [{ name: 'router', image, args: ['router'] }, container] });
    const hidden = { ...body, metadata: { ...owned('skupper-router').metadata, managedFields: [{}] } };
    await refused(thief.create(at('apis/apps/v1', 'deployments', west.name), hidden), /one container/);
    await west.until({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'skupper-router' }, 'to be there', () => true);
    const path = at('apis/apps/v1', 'deployments', west.name, 'skupper-router');
    const add = { op: 'add', path: '/spec/template/spec/containers/-', value: container };
    for (const managedFields of [[], [{}]]) {
      const reset = { op: 'replace', path: '/metadata/managedFields', value: managedFields };
      await refused(thief.patch(path, [reset, add], 'application/json-patch+json'), /one container/);
    }
    await refused(thief.patch(path, [add], 'application/json-patch+json'), /one container/);
  });

  it('gives rights to routers only, and none over all Secrets', async () => {
    const rbac = 'apis/rbac.authorization.k8s.io/v1';
    const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];
    await refused(thief.create(at(rbac, 'roles', west.name), { ...owned('mine'), rules }), /only the Role skupper-router/);
    await refused(thief.create(at(rbac, 'roles', west.name), { ...owned('skupper-router'), rules }), /name each Secret/);
    const writes = [{ apiGroups: [''], resources: ['services'], verbs: ['create'] }];
    await refused(thief.create(at(rbac, 'roles', west.name), { ...owned('network-observer'), rules: writes }), /consoles, which only read/);
    await west.cluster.api.create(`/${rbac}/namespaces/${west.name}/roles`, { metadata: { name: 'reader' }, rules });
    const binding = {
      ...owned('mine'),
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: west.name }],
    };
    await refused(thief.create(at(rbac, 'rolebindings', west.name), binding), /binds only the Role skupper-router/);
  });
});
