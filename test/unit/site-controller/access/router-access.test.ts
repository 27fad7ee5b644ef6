import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SecuredAccess } from '../../../../src/api/skupper/index.ts';
import { accessObjects } from '../../../../src/site-controller/access/access-objects.ts';
import { observeNamespace } from '../../../../src/site-controller/observe.ts';
import { noTrust } from '../../../../src/site/observe/trust-facts.ts';
import type { KubeObject } from '../../../../src/kube/objects.ts';
import { aRouterAccess, aSite, anAccess, problems, seen, told, obsolete, desired, desiredObject } from './support.ts';

const secret = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name } });
const ofRouter = (routerAccess: string): object => ({
  annotations: { 'internal.skupper.io/controlled': 'true', 'internal.skupper.io/routeraccess': routerAccess },
  ownerReferences: [{ apiVersion: 'skupper.io/v2alpha1', kind: 'RouterAccess', name: routerAccess, uid: `ra-${routerAccess}` }],
});
const askedFor = (name: string, routerAccess = 'skupper-router'): SecuredAccess => {
  const access = anAccess('local', {}, name);
  return { ...access, metadata: { ...access.metadata, ...ofRouter(routerAccess) } };
};

describe('a RouterAccess', () => {
  test('asks for a SecuredAccess of its own name before the routers, with a certificate of the site', () => {
    const { metadata, spec } = desiredObject(
      seen([aSite(), aRouterAccess({ accessType: 'local', settings: { domain: 'x.example' } })]),
      'SecuredAccess',
    );
    assert.deepEqual(metadata, { name: 'skupper-router', ...ofRouter('skupper-router') });
    assert.deepEqual(spec, {
      accessType: 'local',
      certificate: 'skupper-site-server',
      issuer: 'skupper-site-ca',
      ports: [
        { name: 'inter-router', port: 55_671, targetPort: 55_671, protocol: 'TCP' },
        { name: 'edge', port: 45_671, targetPort: 45_671, protocol: 'TCP' },
      ],
      selector: { 'skupper.io/component': 'router', 'skupper.io/group': 'skupper-router' },
      settings: { domain: 'x.example' },
    });
  });

  for (const [of, access, site, issuer] of [
    ['the site', {}, {}, 'skupper-site-ca'],
    ['the Site’s field', {}, { defaultIssuer: 'mine' }, 'mine'],
    ['its own field', { issuer: 'own' }, { defaultIssuer: 'mine' }, 'own'],
    ['no issuer, if the bundle exists already', { generateTlsCredentials: false }, {}, undefined],
  ] as const) {
    test(`has its certificate issued by ${of}`, () => {
      const view = seen([aSite(site), aRouterAccess(access), secret('skupper-site-server')]);
      assert.equal((desiredObject(view, 'SecuredAccess').spec as { issuer?: string }).issuer, issuer);
    });
  }

  test('takes the usual ports for 0 and for none', () => {
    const roles = [{ name: 'inter-router', port: 0 }, { name: 'edge' }];
    const { ports } = desiredObject(seen([aSite(), aRouterAccess({ roles })]), 'SecuredAccess').spec as SecuredAccess['spec'];
    assert.deepEqual(
      ports.map(({ port }) => port),
      [55_671, 45_671],
    );
  });

  test('creates one for each group of routers, and passes the group of each endpoint', () => {
    const site = aSite({ ha: true });
    const access = aRouterAccess({ accessType: 'local' });
    const view = seen([site, access, askedFor('skupper-router'), askedFor('skupper-router-2')]);
    const second = desiredObject(view, 'SecuredAccess', 'skupper-router-2').spec as SecuredAccess['spec'];
    assert.equal(second.selector['skupper.io/group'], 'skupper-router-2');
    assert.deepEqual(told(view, 'RouterAccess/skupper-router'), [
      'skupper-router inter-router skupper-router.west:55671',
      'skupper-router edge skupper-router.west:45671',
      'skupper-router-2 inter-router skupper-router-2.west:55671',
      'skupper-router-2 edge skupper-router-2.west:45671',
    ]);
  });

  test('has one certificate for all its routers', () => {
    const objects = [aSite({ ha: true }), aRouterAccess({ accessType: 'local' }), askedFor('skupper-router'), askedFor('skupper-router-2')];
    const { metadata, spec } = desiredObject(seen(objects), 'Certificate', 'skupper-site-server');
    const { hosts, subject } = spec as { readonly hosts: readonly string[]; readonly subject: string };
    assert.deepEqual([subject, hosts.includes('skupper-router'), hosts.includes('skupper-router-2.west')], ['skupper-router', true, true]);
    assert.deepEqual(
      metadata.ownerReferences?.map(({ name }) => name),
      ['skupper-router', 'skupper-router-2'],
    );
  });

  test('deletes obsolete SecuredAccesses of its own, and none of another owner', () => {
    const objects = [aSite(), aRouterAccess(), askedFor('skupper-router'), askedFor('skupper-router-2'), anAccess('local', {}, 'own')];
    assert.deepEqual(obsolete(seen(objects)), ['SecuredAccess skupper-router-2']);
    assert.deepEqual(obsolete(seen([aRouterAccess(), askedFor('skupper-router')])), ['SecuredAccess skupper-router']);
    assert.deepEqual(obsolete(seen([aSite({ edge: true }), aRouterAccess(), askedFor('skupper-router')])), [
      'SecuredAccess skupper-router',
    ]);
  });

  test('follows a change at once, in the same pass as its SecuredAccess', () => {
    const view = seen([aSite(), aRouterAccess({ accessType: 'loadbalancer' }), askedFor('skupper-router')]);
    assert.equal((desiredObject(view, 'Service').spec as { readonly type: string }).type, 'LoadBalancer');
  });

  const other = aRouterAccess({ roles: [{ name: 'inter-router', port: 45_671 }] }, 'b');
  const held = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'db', labels: { 'internal.skupper.io/listener': 'db' } },
    spec: { ports: [{ port: 5432, targetPort: 55_671 }] },
  };
  const twice = aRouterAccess({
    roles: [
      { name: 'inter-router', port: 7 },
      { name: 'edge', port: 7 },
    ],
  });
  const implied = aRouterAccess();
  const controlled = { ...implied, metadata: { ...implied.metadata, annotations: { 'internal.skupper.io/controlled': 'true' } } };
  const later = { ...other, metadata: { ...other.metadata, creationTimestamp: '2026-01-02T00:00:00Z' } };
  const earlier = aRouterAccess({}, 'c');
  const first = { ...earlier, metadata: { ...earlier.metadata, creationTimestamp: '2026-01-01T00:00:00Z' } };
  for (const [objects, problem, asks] of [
    [
      [other, controlled],
      'RouterAccess/b port-taken-twice RouterAccess "skupper-router" has port 45671;',
      ['SecuredAccess skupper-router'],
    ],
    [[later, first], 'RouterAccess/b port-taken-twice RouterAccess "c" has port 45671;', ['SecuredAccess c']],
    [[aRouterAccess({}, 'a'), other], 'RouterAccess/b port-taken-twice RouterAccess "a" has port 45671;', ['SecuredAccess a']],
    [[twice], 'RouterAccess/skupper-router port-taken-twice another of its roles has port 7;', ['SecuredAccess skupper-router']],
    [[aRouterAccess({ roles: [{ name: 'edge', port: 9090 }] })], 'port-taken-twice the router itself has port 9090;', []],
    [[aRouterAccess(), held], 'port-taken-twice the router listens on port 55671 for Service "db";', []],
    [
      [aRouterAccess({ generateTlsCredentials: false })],
      'tls-missing TLS credentials secret "skupper-site-server" not found;',
      ['SecuredAccess skupper-router'],
    ],
    [[aRouterAccess(), anAccess('local', {}, 'skupper-router')], 'object-foreign SecuredAccess "skupper-router" already exists', []],
  ] as readonly (readonly [readonly KubeObject[], string, readonly string[]])[]) {
    test(`reports ${problem}`, () => {
      const view = seen([aSite(), ...objects]);
      const [found, ...others] = problems(view);
      assert.ok(found?.includes(problem), found ?? 'nothing is reported');
      assert.deepEqual(others, []);
      assert.deepEqual(
        desired(view).filter((each) => each.startsWith('SecuredAccess')),
        asks,
      );
    });
  }

  test('reports errors of its SecuredAccesses, and so does the Site that uses it for linkAccess', () => {
    const site = aSite({ ha: true });
    const access = aRouterAccess({ accessType: 'pigeon' });
    const ownerReferences = [{ apiVersion: site.apiVersion, kind: 'Site', name: 'west', uid: 'site' }];
    const ofSite = { ...access, metadata: { ...access.metadata, ownerReferences } };
    const view = seen([site, ofSite, askedFor('skupper-router'), askedFor('skupper-router-2')]);
    const statuses = observeNamespace(view, { problems: accessObjects(view).problems, trust: noTrust }, '2026-01-01T00:00:00Z');
    for (const key of ['SecuredAccess/skupper-router', 'RouterAccess/skupper-router', 'Site/west'] as const) {
      const { conditions, message } = statuses.get(key) ?? {};
      assert.equal(conditions?.find(({ type }) => type === 'Configured')?.reason, 'Error');
      assert.match(message ?? '', /^unsupported access type: "pigeon" is unknown;[^;]*$/);
    }
  });

  test('is resolved once its SecuredAccess is reached, and pending before', () => {
    const view = (accessType: string): ReturnType<typeof observeNamespace> =>
      observeNamespace(
        seen([aSite(), aRouterAccess({ accessType }), askedFor('skupper-router')]),
        { problems: [], trust: noTrust },
        '2026-01-01T00:00:00Z',
      );
    for (const key of ['SecuredAccess/skupper-router', 'RouterAccess/skupper-router', 'Site/west'] as const) {
      const resolvedOf = (accessType: string): readonly unknown[] => {
        const { status, reason, message } =
          view(accessType)
            .get(key)
            ?.conditions?.find(({ type }) => type === 'Resolved') ?? {};
        return [status, reason, message];
      };
      assert.deepEqual(resolvedOf('local'), ['True', 'Ready', 'OK']);
      const [status, reason, message] = resolvedOf('loadbalancer');
      assert.deepEqual([status, reason], ['False', 'Pending']);
      assert.match(String(message), /^Pending: /);
    }
  });

  test('whose second name is another’s own leaves it to that', () => {
    const view = seen([aSite({ ha: true }), aRouterAccess({}, 'a'), aRouterAccess({ roles: [{ name: 'edge', port: 7000 }] }, 'a-2')]);
    assert.deepEqual(
      desired(view).filter((each) => each.startsWith('SecuredAccess')),
      ['SecuredAccess a', 'SecuredAccess a-2', 'SecuredAccess a-2-2'],
    );
    assert.match(problems(view).join(), /RouterAccess\/a object-foreign SecuredAccess "a-2" already exists/);
  });
});
