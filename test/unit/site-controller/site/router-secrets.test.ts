import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Site } from '../../../../src/api/skupper/index.ts';
import { routerRights } from '../../../../src/api/skupper/router-rights.ts';
import { routerSecrets, type RouterSecrets } from '../../../../src/site-controller/site/router-secrets.ts';
import type { KubeObject, Secret } from '../../../../src/kube/objects.ts';
import { viewOf } from '../support/view.ts';

const apiVersion = 'skupper.io/v2alpha1';
const own = ['skupper-site-key', 'skupper-local-server', 'skupper-site-server'];
const site: Site = { apiVersion, kind: 'Site', metadata: { name: 'west', uid: 'u1' }, spec: { defaultIssuer: 'my-ca' } };

function secretsOf(objects: readonly KubeObject[], options: Parameters<typeof viewOf>[1] = {}): RouterSecrets {
  return routerSecrets(viewOf([site, ...objects], options), site);
}

function resource(kind: string, spec: object, name = 'x'): KubeObject {
  const object: KubeObject & { readonly spec: object } = { apiVersion, kind, metadata: { name }, spec };
  return object;
}

function secret(name: string, metadata: KubeObject['metadata'] = {}, type = 'kubernetes.io/tls'): Secret {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, ...metadata }, type };
}

describe('the Secrets that a router may read', () => {
  for (const [kind, spec] of [
    ['Listener', { tlsCredentials: 'named' }],
    ['MultiKeyListener', { tlsCredentials: 'named' }],
    ['Connector', { tlsCredentials: 'named' }],
    ['RouterAccess', { tlsCredentials: 'named', roles: [] }],
    ['Link', { tlsCredentials: 'named', endpoints: [] }],
    ['Link', { endpoints: [], settings: { 'proxy-configuration': 'named' } }],
  ] as const) {
    test(`are those that a ${kind} names, and its own`, () => {
      assert.deepEqual(secretsOf([resource(kind, spec)]).read, [...own, 'named']);
    });
  }

  test('are those that an AttachedConnector names which the site lets in', () => {
    const binding = resource('AttachedConnectorBinding', { connectorNamespace: 'apps', routingKey: 'k' });
    const attached = (siteNamespace: string, namespace: string, name: string, tlsCredentials: string): KubeObject => ({
      ...resource('AttachedConnector', { siteNamespace, tlsCredentials }),
      metadata: { name, namespace },
    });
    const elsewhere = [
      attached('west', 'apps', 'x', 'named'),
      attached('west', 'apps', 'y', 'of-no-binding'),
      attached('west', 'others', 'x', 'of-another-namespace'),
      attached('east', 'apps', 'z', 'of-another-site'),
    ];
    const others = resource('AttachedConnectorBinding', { connectorNamespace: 'apps', routingKey: 'z' }, 'z');
    assert.deepEqual(secretsOf([binding, others], { elsewhere }).read, [...own, 'named']);
  });

  const listener = (name: string): KubeObject => resource('Listener', { tlsCredentials: name });
  for (const [what, name, there] of [
    ['the authority of the site', 'skupper-site-ca', []],
    ['the authority of its routers', 'skupper-local-ca', []],
    ['the default issuer', 'my-ca', []],
    ['the record of what was issued', 'skupper-site-ledger', []],
    ['the record of grants', 'skupper-site-grants', []],
    ['keys that wait for their certificate', 'skupper-pending-keys', []],
    ['what a Certificate signs with', 'root', [resource('Certificate', { ca: '', subject: 'r', signing: true }, 'root')]],
    [
      'the certificate of a client of the router API',
      'monitor',
      [resource('Certificate', { ca: 'skupper-local-ca', subject: 'm', client: true, settings: { purpose: 'api' } }, 'monitor')],
    ],
    [
      'the certificate of a client that may end connections',
      'operator',
      [resource('Certificate', { ca: 'skupper-local-ca', subject: 'o', client: true, settings: { purpose: 'api-control' } }, 'operator')],
    ],
    ['what a Certificate was signed with', 'theirs', [resource('Certificate', { ca: 'theirs', subject: 's' })]],
    [
      'the issuer of a RouterAccess',
      'theirs',
      [resource('RouterAccess', { issuer: 'theirs', roles: [], tlsCredentials: 'skupper-site-server' })],
    ],
    ['the issuer of a SecuredAccess', 'theirs', [resource('SecuredAccess', { issuer: 'theirs', ports: [], selector: {} })]],
    ['the issuer of an AccessGrant', 'theirs', [resource('AccessGrant', { issuer: 'theirs' })]],
    ['the token of an account', 'token', [secret('token', {}, 'kubernetes.io/service-account-token')]],
    ['the password of a registry', 'pull', [secret('pull', {}, 'kubernetes.io/dockerconfigjson')]],
    ['what has no name that a Secret can have', '*', []],
    ['what is called nothing', '', []],
  ] as const) {
    test(`are not ${what}, also where a Listener names it`, () => {
      assert.deepEqual(secretsOf([listener(name), ...there]).read, own);
    });
  }

  test('are not the key by which tokens are served, in the namespace that has it', () => {
    const objects = [listener('skupper-grant-server')];
    assert.deepEqual(secretsOf(objects, { namespace: 'skupper' }).read, own);
    assert.deepEqual(secretsOf(objects).read, [...own, 'skupper-grant-server']);
  });

  test('are limited to what fits into a Role, and the excess is reported', () => {
    const objects = Array.from({ length: 5000 }, (_, index) => resource('Listener', { tlsCredentials: `t${index}` }, `l${index}`));
    const view = { ...viewOf([site, ...objects]), find: () => undefined };
    const { read, problems } = routerSecrets(view, site);
    assert.equal(read.length, 4096);
    assert.deepEqual(read.slice(0, 3), own);
    assert.match(problems[0]?.message ?? '', /name 5003 Secrets/);
  });
});

describe('the Secrets that a router may write', () => {
  const link = resource('Link', { tlsCredentials: 'link', endpoints: [] });
  for (const [what, there, renew] of [
    ['that of a Link, which came with it', [secret('link')], ['link']],
    [
      'that of a Link, which came with a token',
      [secret('link', { ownerReferences: [{ apiVersion, kind: 'Site', name: 'west', uid: 'u1' }] })],
      ['link'],
    ],
    ['none that is not there', [], []],
    [
      'none that the controller renews',
      [secret('link', { ownerReferences: [{ apiVersion, kind: 'Certificate', name: 'link', uid: 'c' }] })],
      [],
    ],
    ['none of another owner', [secret('link', { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'c' }] })], []],
    ['none that something else shows, too', [secret('link'), resource('Listener', { tlsCredentials: 'link' })], []],
  ] as const) {
    test(what, () => assert.deepEqual(secretsOf([link, ...there]).renew, renew));
  }

  test('are none of its own, even if a Link names them', () => {
    const objects = own.flatMap((name) => [resource('Link', { tlsCredentials: name, endpoints: [] }, name), secret(name)]);
    assert.deepEqual(secretsOf(objects).renew, []);
  });
});

describe('the rights of a router', () => {
  const all = routerRights(['b', 'a'], ['a']);

  test('name each Secret and each ConfigMap', () => {
    const named = new Set(['secrets', 'configmaps']);
    for (const { resources, resourceNames = [] } of all) {
      if (resources.some((each) => named.has(each))) assert.notEqual(resourceNames.length, 0);
    }
  });

  test('have no rule for all Secrets if none is named', () => {
    assert.deepEqual(
      routerRights([], []).filter(({ resources }) => resources.includes('secrets')),
      [],
    );
  });

  test('change no resource that a user writes', () => {
    const writes = all.filter(({ verbs }) => verbs.some((verb) => !['get', 'list', 'watch'].includes(verb)));
    assert.deepEqual(
      writes.map(({ resources, verbs, resourceNames = [] }) => `${verbs.join()} ${resources.join()} ${resourceNames.join()}`.trim()),
      [
        'patch listeners/status,multikeylisteners/status,connectors/status,links/status',
        'get,list,watch,patch configmaps skupper-network-status,skupper-router-renewals',
        'get,patch leases skupper-site-leader',
        'create leases',
        'patch secrets a',
      ],
    );
  });
});
