import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withTemplates } from '../../../../src/site-controller/site/label-templates.ts';
import { concernsAllSites } from '../../../../src/site-controller/site/shared-config.ts';
import { emptyDesiredState, type DesiredState } from '../../../../src/site-controller/desired-state.ts';
import type { ConfigMap, KubeObject, ObjectMeta, Secret } from '../../../../src/kube/objects.ts';
import { configMaps, deployments, roles, secrets, services, type Resource } from '../../../../src/kube/resource.ts';
import { viewOf } from '../support/view.ts';

const site = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', metadata: { name: 'west', uid: 'u' }, spec: {} };

function template(
  data: ConfigMap['data'],
  labels: Readonly<Record<string, string>> = { 'acme.foo/l': '1' },
  namespace = 'west',
  name = 't',
): ConfigMap {
  const metadata = {
    name,
    namespace,
    labels: { 'skupper.io/label-template': 'true', ...labels },
    annotations: { 'acme.foo/a': '2', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
  };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...(data === undefined ? {} : { data }) };
}

function desiredObject(of: Resource, name: string, metadata: ObjectMeta = {}): DesiredState['objects'][number] {
  return { of, object: { metadata: { name, ...metadata } }, for: 'Site/west' };
}

function metadataOf(
  objects: readonly KubeObject[],
  desired: DesiredState['objects'][number],
  elsewhere: readonly KubeObject[] = [],
): ObjectMeta | undefined {
  const view = viewOf([site, ...objects], { elsewhere });
  return withTemplates(view, { ...emptyDesiredState, objects: [desired] }).objects[0]?.object.metadata;
}

const both = { labels: { 'acme.foo/l': '1' }, annotations: { 'acme.foo/a': '2' } };

describe('labels and annotations of a template', () => {
  for (const [what, data, desired, isOn] of [
    ['go onto a Deployment', undefined, desiredObject(deployments, 'skupper-router'), true],
    ['go onto a Service', {}, desiredObject(services, 'web'), true],
    ['go onto a Secret', {}, desiredObject(secrets, 'x'), true],
    ['go onto no Role', {}, desiredObject(roles, 'skupper-router'), false],
    ['go onto the kind that it names, in any case', { kind: 'service' }, desiredObject(services, 'web'), true],
    ['go onto no other kind than it names', { kind: 'Service' }, desiredObject(deployments, 'skupper-router'), false],
    ['go onto the object that it names', { name: 'web' }, desiredObject(services, 'web'), true],
    ['go onto no other object than it names', { name: 'web' }, desiredObject(services, 'web-2'), false],
    ['go onto the second router as onto the first', { name: 'skupper-router' }, desiredObject(deployments, 'skupper-router-2'), true],
    [
      'go onto an object with the labels that it asks for',
      { labelSelector: 'a=1,!b' },
      desiredObject(services, 'web', { labels: { a: '1' } }),
      true,
    ],
    ['go onto none with others', { labelSelector: 'a=1' }, desiredObject(services, 'web', { labels: { a: '2' } }), false],
  ] as const) {
    test(what, () => {
      const { labels, annotations } = metadataOf([template(data)], desired) ?? {};
      const own = desired.object.metadata.labels;
      const nothing = { labels: own, annotations: undefined };
      assert.deepEqual({ labels, annotations }, isOn ? { ...both, labels: { ...both.labels, ...own } } : nothing);
    });
  }

  test('are not those that it leaves out, nor any by which the system knows its own', () => {
    const labels = {
      keep: '1',
      drop: '1',
      'skupper.io/component': 'x',
      'internal.skupper.io/listener': 'x',
      'earshot/applied': 'x',
      'sku.pper': '1',
    };
    const found = metadataOf([template({ exclude: 'drop, acme.foo/a' }, labels)], desiredObject(services, 'web'));
    assert.deepEqual(found?.labels, { keep: '1', 'sku.pper': '1' });
    assert.deepEqual(found?.annotations, {});
  });

  test('are not those that other controllers write, and the Site says so', () => {
    const annotations = {
      'deployment.kubernetes.io/revision': '7',
      'kubectl.kubernetes.io/restartedAt': 'x',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
      'some.kubernetes.io/other': 'x',
      'meta.helm.sh/release-name': 'x',
      'argocd.argoproj.io/tracking-id': 'x',
      'listeners.stackable.tech/fields': 'x',
      'service.beta.kubernetes.io/aws-load-balancer-type': 'nlb',
      'nginx.ingress.kubernetes.io/ssl-passthrough': 'true',
      'example.com/a': '1',
    };
    const configMap = template({});
    const view = viewOf([site, { ...configMap, metadata: { ...configMap.metadata, annotations } }]);
    const { objects, problems } = withTemplates(view, { ...emptyDesiredState, objects: [desiredObject(deployments, 'skupper-router')] });
    assert.deepEqual(objects[0]?.object.metadata.annotations, {
      'service.beta.kubernetes.io/aws-load-balancer-type': 'nlb',
      'nginx.ingress.kubernetes.io/ssl-passthrough': 'true',
      'example.com/a': '1',
    });
    assert.match(problems[0]?.message ?? '', /does not copy "deployment\.kubernetes\.io\/revision"/);
  });

  test("yield to the object's own", () => {
    const found = metadataOf(
      [template({})],
      desiredObject(services, 'web', { labels: { 'acme.foo/l': 'own' }, annotations: { other: '1' } }),
    );
    assert.deepEqual(found?.labels, { 'acme.foo/l': 'own' });
    assert.deepEqual(found?.annotations, { 'acme.foo/a': '2', other: '1' });
  });

  test("yield to those of the controller's namespace, and to none of any other", () => {
    const elsewhere = [template({}, { 'acme.foo/l': 'of all' }, 'skupper'), template({}, { 'acme.foo/l': 'no' }, 'east')];
    assert.deepEqual(metadataOf([template({})], desiredObject(services, 'web'), elsewhere)?.labels, { 'acme.foo/l': 'of all' });
    assert.deepEqual(metadataOf([], desiredObject(services, 'web'), elsewhere)?.labels, { 'acme.foo/l': 'of all' });
  });

  test('yield to those of a later name, in whichever order these are found', () => {
    const [first, second] = ['a', 'b'].map((name) => template({}, { 'acme.foo/l': name }, 'west', name));
    assert.ok(first !== undefined && second !== undefined);
    for (const found of [
      [first, second],
      [second, first],
    ]) {
      assert.deepEqual(metadataOf(found, desiredObject(services, 'web'))?.labels, { 'acme.foo/l': 'b' });
    }
  });

  test('are reported to have no effect if their selector is invalid', () => {
    const { objects, problems } = withTemplates(viewOf([site, template({ labelSelector: 'a in b' })]), {
      ...emptyDesiredState,
      objects: [desiredObject(services, 'web')],
    });
    assert.equal(objects[0]?.object.metadata.labels, undefined);
    assert.deepEqual(
      problems.map(({ resource, severity, message }) => [resource, severity, message]),
      [['Site/west', 'warning', 'the label template t has no effect: its labelSelector lacks a ( after in or notin.']],
    );
  });
});

describe('the Secrets of a site', () => {
  const secret = (annotations: Readonly<Record<string, string>>): Secret => ({
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { name: 'x', uid: 'u7', resourceVersion: '5', labels: { own: '1' }, annotations },
  });
  const controlled = { 'internal.skupper.io/controlled': 'true' };
  const wantedOf = (...objects: readonly KubeObject[]): unknown =>
    withTemplates(viewOf([site, ...objects]), emptyDesiredState).objects.map(({ object }) => object);
  const bare = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x', uid: 'u7', labels: {}, annotations: {} } };

  for (const [what, objects, expected] of [
    [
      'get what a template has, and nothing else is written',
      [secret(controlled), template({})],
      [{ ...bare, metadata: { ...bare.metadata, ...both } }],
    ],
    ['are left alone without a template', [secret(controlled)], []],
    ['lose what they had, once the template is deleted', [secret({ ...controlled, 'earshot/applied': 'x' })], [bare]],
    ["are not a person's", [secret({}), template({})], []],
  ] as const) {
    test(what, () => assert.deepEqual(wantedOf(...objects), expected));
  }
});

describe('a change that concerns all sites', () => {
  const object = template({}, {}, 'skupper');
  const plain = { ...object, metadata: { ...object.metadata, labels: {} } };
  for (const [what, of, change, expected] of [
    ['a template of the controller', configMaps, { type: 'added', object }, true],
    ['one that stops being a template', configMaps, { type: 'modified', object: plain, previous: object }, true],
    ['another ConfigMap', configMaps, { type: 'added', object: plain }, false],
    ["a namespace's own template", configMaps, { type: 'added', object: template({}) }, false],
    ['something else of that label', services, { type: 'added', object }, false],
  ] as const) {
    test(`${what}: ${expected ? 'yes' : 'no'}`, () => {
      assert.equal(concernsAllSites(of, change, { namespace: 'skupper' }), expected);
    });
  }
});
