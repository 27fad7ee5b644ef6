import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Site } from '../../../../src/api/skupper/index.ts';
import { siteObjects } from '../../../../src/site-controller/site/site-objects.ts';
import type { DesiredState } from '../../../../src/site-controller/desired-state.ts';
import type { ConfigMap, Deployment, KubeObject } from '../../../../src/kube/objects.ts';
import { settings, viewOf } from '../support/view.ts';

const apiVersion = 'skupper.io/v2alpha1';
const owner = { apiVersion, kind: 'Site', name: 'west', uid: 'u1' };

function aSite(spec: Site['spec'] = {}, name = 'west'): Site {
  return { apiVersion, kind: 'Site', metadata: { name, uid: 'u1' }, spec };
}

function desiredFor(spec: Site['spec'], objects: readonly KubeObject[] = [], options: Parameters<typeof viewOf>[1] = {}): DesiredState {
  return siteObjects(viewOf([aSite(spec), ...objects], options));
}

function namesIn({ objects }: Pick<DesiredState, 'objects'>): readonly string[] {
  return objects.map(({ of, object }) => `${of.kind}/${object.metadata.name}`).sort();
}

function desiredOf<T extends KubeObject>({ objects }: DesiredState, kind: string, name: string): T {
  const found = objects.find(({ of, object }) => of.kind === kind && object.metadata.name === name);
  assert.ok(found, `${kind} ${name} is not desiredOf for`);
  return found.object as T;
}

const always = [
  'Certificate/skupper-local-ca',
  'Certificate/skupper-local-server',
  'Certificate/skupper-site-ca',
  'ConfigMap/skupper-network-status',
  'ConfigMap/skupper-router',
  'ConfigMap/skupper-router-renewals',
  'Deployment/skupper-router',
  'Role/skupper-router',
  'RoleBinding/skupper-router',
  'Service/skupper-router-local',
  'ServiceAccount/skupper-router',
];

interface PodSpec {
  readonly serviceAccountName: string;
  readonly affinity?: unknown;
  readonly securityContext?: unknown;
  readonly imagePullSecrets?: unknown;
  readonly containers: readonly [
    {
      readonly env: readonly { readonly name: string; readonly value?: string }[];
      readonly securityContext?: unknown;
      readonly resources?: unknown;
      readonly args: unknown;
    },
  ];
}

interface Template {
  readonly metadata: { readonly labels: unknown; readonly annotations: Readonly<Record<string, string>> };
  readonly spec: PodSpec;
}

function templateOf(planned: DesiredState, name = 'skupper-router'): Template {
  return desiredOf<Deployment>(planned, 'Deployment', name).spec?.template as Template;
}

describe('what a site needs', () => {
  for (const [what, spec, more, without] of [
    ['by default', {}, [], []],
    [
      'with two routers',
      { ha: true },
      ['ConfigMap/skupper-router-2', 'Deployment/skupper-router-2', 'PodDisruptionBudget/skupper-router'],
      [],
    ],
    ['at the edge', { edge: true }, [], []],
    ['at the edge, where two routers were asked for', { edge: true, ha: true }, [], []],
    ['with link access', { linkAccess: 'default' }, ['RouterAccess/skupper-router'], []],
    ['with link access by a class', { linkAccess: 'listenerclass:public' }, ['RouterAccess/skupper-router'], []],
    ['with no link access', { linkAccess: 'none' }, [], []],
    ['with an unknown link access', { linkAccess: 'carrier-pigeon' }, [], []],
    [
      'with an account of its own',
      { serviceAccount: 'mine' },
      [],
      ['Role/skupper-router', 'RoleBinding/skupper-router', 'ServiceAccount/skupper-router'],
    ],
  ] as const) {
    test(what, () => {
      const planned = desiredFor(spec);
      assert.deepEqual(namesIn(planned), [...always.filter((name) => !without.some((each) => each === name)), ...more].sort());
      assert.deepEqual(planned.obsolete, []);
      for (const { object } of planned.objects) assert.deepEqual(object.metadata.ownerReferences, [owner]);
    });
  }

  test('is nothing without a Site', () => {
    assert.deepEqual(siteObjects(viewOf([])), { objects: [], obsolete: [], problems: [] });
  });

  for (const [spec, message] of [
    [{ edge: true, ha: true }, /^Edge sites cannot have HA enabled/],
    [
      { linkAccess: 'carrier-pigeon' },
      /^Unsupported value for LinkAccess: carrier-pigeon; this controller knows none, default, local, loadbalancer, route, /,
    ],
    [{ linkAccess: 'nodeport' }, /^Unsupported value for LinkAccess: nodeport;/],
  ] as const) {
    test(`is reported as invalid: ${JSON.stringify(spec)}`, () => {
      const [problem, ...others] = desiredFor(spec).problems;
      assert.equal(problem?.severity, 'error');
      assert.match(problem.message, message);
      assert.deepEqual(others, []);
    });
  }
});

describe('what a site no longer needs', () => {
  const metadata = { ownerReferences: [owner] };
  const ours = (kind: string, name: string, more: KubeObject['metadata'] = metadata): KubeObject => ({ kind, metadata: { name, ...more } });
  const access = {
    apiVersion,
    kind: 'RouterAccess',
    metadata: { name: 'skupper-router', annotations: { 'internal.skupper.io/controlled': 'true' } },
    spec: { roles: [], tlsCredentials: 'x' },
  };
  for (const [what, spec, there, obsolete] of [
    [
      'its second router',
      {},
      [ours('Deployment', 'skupper-router-2'), ours('ConfigMap', 'skupper-router-2'), ours('PodDisruptionBudget', 'skupper-router')],
      ['Deployment/skupper-router-2', 'ConfigMap/skupper-router-2', 'PodDisruptionBudget/skupper-router'],
    ],
    ['its account', { serviceAccount: 'mine' }, [ours('Role', 'skupper-router')], ['Role/skupper-router']],
    ['its link access', {}, [access], ['RouterAccess/skupper-router']],
    ['its link access, once it is at the edge', { edge: true, linkAccess: 'default' }, [access], ['RouterAccess/skupper-router']],
    ['not its link access, while its value is unknown', { linkAccess: 'carrier-pigeon' }, [access], []],
    [
      'not that of another owner',
      { serviceAccount: 'mine' },
      [ours('Role', 'skupper-router', {}), ours('Deployment', 'skupper-router-2', {})],
      [],
    ],
  ] as const) {
    test(what, () => {
      const names = desiredFor(spec, there).obsolete.map(({ of, object }) => `${of.kind}/${object.metadata.name}`);
      assert.deepEqual(names.sort(), [...obsolete].sort());
    });
  }
});

describe("a router's Deployment", () => {
  const plain = desiredFor({});
  const deployment = desiredOf<Deployment>(plain, 'Deployment', 'skupper-router');

  test('is selected by what an earlier controller selected it by, since that cannot be changed', () => {
    assert.deepEqual(deployment.spec?.selector, { matchLabels: { 'skupper.io/component': 'router' } });
  });

  test('has the labels by which tools find it, and its pods those of their group', () => {
    const labels = {
      'app.kubernetes.io/name': 'skupper-router',
      'app.kubernetes.io/part-of': 'skupper',
      application: 'skupper-router',
      'skupper.io/component': 'router',
      'skupper.io/type': 'site',
    };
    assert.deepEqual(deployment.metadata.labels, labels);
    assert.deepEqual(templateOf(plain).metadata.labels, { ...labels, 'skupper.io/group': 'skupper-router' });
    assert.deepEqual(templateOf(desiredFor({ ha: true }), 'skupper-router-2').metadata.labels, {
      ...labels,
      'skupper.io/group': 'skupper-router-2',
    });
  });

  test('passes the router its Site, for any name', () => {
    const name = `${'a'.repeat(250)}.b`;
    const template = templateOf(siteObjects(viewOf([aSite({}, name)])));
    const values = Object.fromEntries(template.spec.containers[0].env.map((each) => [each.name, each.value]));
    assert.deepEqual(values, {
      POD_NAME: undefined,
      POD_NAMESPACE: undefined,
      ROUTER_GROUP: 'skupper-router',
      SITE_UID: 'u1',
      SITE_NAME: name,
    });
    assert.ok(!JSON.stringify(template.metadata).includes(name), 'a label has no room for it');
  });

  test('separates two routers of a site by node and by zone, by default', () => {
    const text = JSON.stringify(templateOf(desiredFor({ ha: true })).spec.affinity);
    for (const key of ['kubernetes.io/hostname', 'topology.kubernetes.io/zone']) assert.ok(text.includes(key));
    assert.equal(templateOf(desiredFor({ ha: true, settings: { 'disable-anti-affinity': 'true' } })).spec.affinity, undefined);
  });

  test('is the same whether there is a second router or not', () => {
    const first = (spec: Site['spec']) => desiredOf<Deployment>(desiredFor(spec), 'Deployment', 'skupper-router');
    assert.deepEqual(first({ ha: true }), first({}));
  });

  test('has no right of the node, unless the cluster chooses itself', () => {
    const { securityContext, containers } = templateOf(plain).spec;
    assert.deepEqual(securityContext, {
      runAsNonRoot: true,
      runAsUser: 65_532,
      runAsGroup: 65_532,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    assert.deepEqual(containers[0].securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const chosen = templateOf(desiredFor({}, [], { settings: { disableSecurityContext: true } })).spec;
    assert.deepEqual([chosen.securityContext, chosen.containers[0].securityContext], [undefined, undefined]);
  });

  test('has no empty list, which would never be as it is wanted', () => {
    assert.ok(!('imagePullSecrets' in templateOf(plain).spec));
    assert.deepEqual(templateOf(desiredFor({}, [], { settings: { imagePullSecrets: ['a'] } })).spec.imagePullSecrets, [{ name: 'a' }]);
  });

  test('restarts its router for settings that need a restart, and for no other', () => {
    const digest = (spec: Site['spec']): unknown => templateOf(desiredFor(spec)).metadata.annotations['skupper.io/config-digest'];
    const same = digest({});
    assert.equal(digest({ settings: { size: 'large', other: '1' } }), same);
    assert.notEqual(digest({ settings: { 'router-data-connection-count': '4' } }), same);
    assert.notEqual(digest({ settings: { 'router-logging': 'debug' } }), same);
  });

  for (const [level, args] of [
    ['debug', ['router', '--log-level=debug']],
    ['ROUTER_CORE:debug+', ['router']],
    ['debug --evil', ['router']],
  ] as const) {
    test(`takes a level of its log from the setting ${level}`, () => {
      assert.deepEqual(templateOf(desiredFor({ settings: { 'router-logging': level } })).spec.containers[0].args, args);
    });
  }
});

describe('the ConfigMap of a router', () => {
  const dataOf = (planned: DesiredState): ConfigMap['data'] => desiredOf<ConfigMap>(planned, 'ConfigMap', 'skupper-router').data;

  test('contains the Site and the revocations', () => {
    const data = dataOf(desiredFor({}));
    assert.deepEqual(JSON.parse(data?.['site.json'] ?? ''), { name: 'west', uid: 'u1' });
    assert.deepEqual(JSON.parse(data?.['revoked.json'] ?? ''), { sites: [], serials: [] });
  });

  test('keeps earlier revocations while the current ones are unknown', () => {
    const before = {
      kind: 'ConfigMap',
      metadata: { name: 'skupper-router', ownerReferences: [owner] },
      data: { 'revoked.json': '{"sites":["x"]}' },
    };
    const view = { ...viewOf([aSite(), before]), revoked: undefined };
    assert.equal(dataOf(siteObjects(view))?.['revoked.json'], '{"sites":["x"]}');
  });

  test('has nothing of a former Site, whose ConfigMap the garbage collector may delete at any moment', () => {
    const before = {
      kind: 'ConfigMap',
      metadata: { name: 'skupper-router', ownerReferences: [{ ...owner, uid: 'former' }] },
      data: { 'revoked.json': '{"sites":["x"]}', 'anchor.json': '{"version":1,"siteId":"former","authorities":{}}' },
    };
    const view = { ...viewOf([aSite(), before]), revoked: undefined };
    const data = dataOf(siteObjects(view));
    assert.deepEqual([data?.['revoked.json'], data?.['anchor.json']], [undefined, undefined]);
  });

  test('omits fields that routers write, so that they are not removed', () => {
    for (const name of ['skupper-network-status', 'skupper-router-renewals']) {
      assert.equal(desiredOf<ConfigMap>(desiredFor({}), 'ConfigMap', name).data, undefined);
    }
  });
});

describe('the RouterAccess for link access', () => {
  const specOf = (planned: DesiredState): unknown =>
    desiredOf<KubeObject & { spec: unknown }>(planned, 'RouterAccess', 'skupper-router').spec;
  const common = { tlsCredentials: 'skupper-site-server', generateTlsCredentials: true };
  const both = [
    { name: 'inter-router', port: 55_671 },
    { name: 'edge', port: 45_671 },
  ];
  for (const [spec, expected] of [
    [{ linkAccess: 'default' }, { ...common, roles: both, issuer: 'skupper-site-ca' }],
    [{ linkAccess: 'route' }, { ...common, roles: both, issuer: 'skupper-site-ca', accessType: 'route' }],
    [
      { linkAccess: 'route', defaultIssuer: 'mine' },
      { ...common, roles: both, issuer: 'mine', accessType: 'route' },
    ],
    [
      { linkAccess: 'default', settings: { ingressClassName: 'nginx' } },
      { ...common, roles: both, issuer: 'skupper-site-ca', settings: { ingressClassName: 'nginx' } },
    ],
    [
      { linkAccess: 'default', settings: { ingressClassName: '' } },
      { ...common, roles: both, issuer: 'skupper-site-ca' },
    ],
  ] as const) {
    test(JSON.stringify(spec), () => assert.deepEqual(specOf(desiredFor(spec)), expected));
  }

  test('keeps its port, for any later request of it', () => {
    const role = { name: 'inter-router', port: 0 };
    const other = { apiVersion, kind: 'RouterAccess', metadata: { name: 'a' }, spec: { roles: [role], tlsCredentials: 'a' } };
    const own = desiredOf<KubeObject>(desiredFor({ linkAccess: 'default' }), 'RouterAccess', 'skupper-router');
    assert.deepEqual(specOf(desiredFor({ linkAccess: 'default' }, [other, own])), { ...common, roles: both, issuer: 'skupper-site-ca' });
    assert.deepEqual(specOf(desiredFor({ linkAccess: 'default' }, [other])), { ...common, roles: [both[1]], issuer: 'skupper-site-ca' });
  });

  test('leaves a port to a RouterAccess that has it', () => {
    const other = {
      apiVersion,
      kind: 'RouterAccess',
      metadata: { name: 'mine' },
      spec: { roles: [{ name: 'edge' }], tlsCredentials: 'x' },
    };
    assert.deepEqual(specOf(desiredFor({ linkAccess: 'default' }, [other])), {
      ...common,
      roles: both.slice(0, 1),
      issuer: 'skupper-site-ca',
    });
  });

  test("is not made where a person's own has its name", () => {
    const own = {
      apiVersion,
      kind: 'RouterAccess',
      metadata: { name: 'skupper-router' },
      spec: { roles: [{ name: 'edge' }], tlsCredentials: 'x' },
    };
    const { objects, obsolete } = desiredFor({ linkAccess: 'default' }, [own]);
    assert.ok(!namesIn({ objects }).includes('RouterAccess/skupper-router'));
    assert.deepEqual(obsolete, []);
  });
});

describe("another owner's object of a name that a site needs", () => {
  test('is left alone, and reported in the status of the Site; the rest is created', () => {
    const foreign = { kind: 'Service', metadata: { name: 'skupper-router-local' } };
    const { objects, problems } = desiredFor({}, [foreign]);
    assert.deepEqual(
      namesIn({ objects }),
      always.filter((name) => name !== 'Service/skupper-router-local'),
    );
    assert.deepEqual(
      problems.map(({ resource, message }) => [resource, message]),
      [
        [
          'Site/west',
          'Service skupper-router-local already exists, and another owner created it; rename it, because the site needs the name.',
        ],
      ],
    );
  });

  for (const [what, metadata] of [
    ["an earlier controller's", { ownerReferences: [owner] }],
    ['one without an owner that this controller has written', { annotations: { 'earshot/applied': 'x' } }],
    ["of another Site's", { ownerReferences: [{ ...owner, uid: 'gone' }] }],
    [
      "a router's of an earlier controller",
      { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'skupper-router', uid: 'd' }] },
    ],
  ] as const) {
    test(`is not ${what}`, () => {
      const there = { kind: 'ConfigMap', metadata: { name: 'skupper-network-status', ...metadata } };
      assert.deepEqual(desiredFor({}, [there]).problems, []);
    });
  }
});

describe('the size of a router', () => {
  const size = (name: string, data: Readonly<Record<string, string>>, more: KubeObject['metadata'] = {}): ConfigMap => ({
    kind: 'ConfigMap',
    metadata: { name, namespace: settings.namespace, labels: { 'skupper.io/site-sizing': name }, ...more },
    data,
  });
  const asDefault = { annotations: { 'skupper.io/default-site-sizing': '' } };
  const usual = { requests: { cpu: '20m', memory: '96Mi' }, limits: { memory: '1Gi' } };
  const elsewhere = [
    size('small', { 'router-cpu-request': '100m', 'router-memory-limit': '1024Mi', 'adaptor-cpu-limit': '1' }),
    size('odd', {
      'router-cpu-request': 'much',
      'router-cpu-limit': '-1',
      'router-memory-request': '0.5Gi',
      'router-memory-limit': '1000M',
    }),
    size('crossed', { 'router-cpu-request': '2', 'router-cpu-limit': '1000m' }),
    size('empty', {}),
  ];
  for (const [what, name, sizes, expected] of [
    ['is small by default', undefined, elsewhere, usual],
    [
      'is the named one, in the form that the API server keeps',
      'small',
      elsewhere,
      { requests: { cpu: '100m' }, limits: { memory: '1Gi' } },
    ],
    ['leaves out what is no amount', 'odd', elsewhere, { requests: { memory: '512Mi' }, limits: { memory: '1G' } }],
    ['has no request above its limit', 'crossed', elsewhere, { limits: { cpu: '1' } }],
    ['is nothing where that is what it says', 'empty', elsewhere, {}],
    ['is small if the named one does not exist', 'huge', elsewhere, usual],
    [
      'is the default one if the named one does not exist',
      'huge',
      [
        ...elsewhere,
        size(
          'd',
          { 'router-cpu-limit': '3' },
          { ...asDefault, name: 'd', namespace: 'skupper', labels: { 'skupper.io/site-sizing': 'd' } },
        ),
      ],
      { limits: { cpu: '3' } },
    ],
    ['is not one of the namespace itself', 'mine', [], usual],
  ] as const) {
    test(what, () => {
      const own = size(
        'mine',
        { 'router-cpu-limit': '9' },
        { name: 'mine', namespace: 'west', labels: { 'skupper.io/site-sizing': 'mine' } },
      );
      const planned = desiredFor(name === undefined ? {} : { settings: { size: name } }, [own], { elsewhere: sizes });
      assert.deepEqual(templateOf(planned).spec.containers[0].resources, expected);
    });
  }
});
