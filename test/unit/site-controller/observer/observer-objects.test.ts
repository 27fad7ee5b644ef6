/** Objects and status of a NetworkObserver. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { NetworkObserver } from '../../../../src/api/skupper/network-observer.ts';
import type { Certificate } from '../../../../src/api/skupper/index.ts';
import type { Deployment, KubeObject, Role, Service } from '../../../../src/kube/objects.ts';
import type { DesiredState } from '../../../../src/site-controller/desired-state.ts';
import { observerObjects } from '../../../../src/site-controller/observer/observer-objects.ts';
import { observerName, readObserverSpec } from '../../../../src/site-controller/observer/observer-spec.ts';
import { observerStatus } from '../../../../src/site-controller/observer/observer-status.ts';
import { listObservers } from '../../../../src/site-controller/observer/observers.ts';
import type { ResourceProblem } from '../../../../src/site/problem.ts';
import { viewOf } from '../support/view.ts';

const API = 'observability.skupper.io/v2alpha1';
const SITE = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', metadata: { name: 'west', namespace: 'west', uid: 'site' }, spec: {} };

function anObserver(spec: NetworkObserver['spec'] = {}, metadata: KubeObject['metadata'] = {}): NetworkObserver {
  return {
    apiVersion: API,
    kind: 'NetworkObserver',
    metadata: { name: 'network-observer', namespace: 'west', uid: 'o1', ...metadata },
    spec,
  };
}

function desiredFor(spec: NetworkObserver['spec'], more: readonly KubeObject[] = []): DesiredState {
  return observerObjects(viewOf([SITE, anObserver(spec), ...more]));
}

function desiredOf<T extends KubeObject>({ objects }: DesiredState, kind: string, name = 'network-observer'): T {
  const found = objects.find(({ of, object }) => of.kind === kind && object.metadata.name === name);
  assert.ok(found, `${kind} ${name} is not desired`);
  return found.object as T;
}

suite('the spec of a NetworkObserver', () => {
  const names: readonly (readonly [name: string, expected: string])[] = [
    ['skupper-network-observer', 'skupper-network-observer'],
    ['networkobserver-sample', 'networkobserver-sample-network-observer'],
    ['x'.repeat(60), `${'x'.repeat(46)}-network-observer`],
    [`network-observer-${'x'.repeat(60)}`, `${'network-observer-'.padEnd(46, 'x')}-network-observer`],
  ];
  for (const [name, expected] of names)
    test(`gives the objects of ${name} the name ${expected}`, () => assert.equal(observerName(name), expected));

  const issuers: readonly (readonly [tls: object, secret: string, issuer: string])[] = [
    [{}, 'network-observer-tls', 'site'],
    [{ openshiftIssued: true }, 'network-observer-tls', 'openshift'],
    [{ skupperIssued: false }, 'network-observer-tls', 'user'],
    [{ secretName: 'mine', openshiftIssued: true }, 'mine', 'user'],
    [{ secretName: 'No Name' }, 'network-observer-tls', 'site'],
  ];
  for (const [tls, secret, issuer] of issuers) {
    test(`has the certificate of ${issuer} with ${JSON.stringify(tls)}`, () => {
      assert.deepEqual(readObserverSpec(anObserver({ tls })).tls, { secret, issuer });
    });
  }

  test('of any other shape is as if it were empty, and its fields are named', () => {
    const usual = readObserverSpec(anObserver());
    for (const value of [null, 7, 'x', [1], [{ create: 1 }]] as const) {
      const fields = ['auth', 'tls', 'service', 'ingress', 'route', 'resources', 'containerResources'];
      assert.deepEqual(readObserverSpec(anObserver(Object.fromEntries(fields.map((field) => [field, value])))), usual);
    }
  });

  test('names the fields without effect that are set', () => {
    const spec = {
      auth: { strategy: 'openshift' },
      nginx: { tag: '1' },
      prometheus: {},
      extraArgs: [],
      skipManagementLabels: false,
      ingress: { enabled: false },
      route: { enabled: true },
      newer: 1,
      service: { type: 'Loadbalancer', port: '443' },
      tls: { secretName: 'No Name' },
    };
    assert.deepEqual(readObserverSpec(anObserver(spec)).ignored, [
      'auth.strategy (the console always asks for a user and password)',
      'route (create an object of your own for the Service)',
      'nginx',
      'newer',
      'tls.secretName (its value is invalid)',
      'service.type (its value is invalid)',
      'service.port (its value is invalid)',
    ]);
  });
});

test('resources of a NetworkObserver are those of the console, in canonical form, and invalid ones are named', () => {
  const given = { requests: { cpu: 1, memory: '2048Mi' }, limits: { memory: 'much', gpu: 1 } };
  const { resources, ignored } = readObserverSpec(
    anObserver({ resources: { limits: { cpu: '9' } }, containerResources: { networkObserver: given } }),
  );
  assert.deepEqual(resources, { requests: { cpu: '1', memory: '2Gi' } });
  assert.deepEqual(ignored, ['resources.limits.memory', 'resources.limits.gpu']);
});

suite('the objects of a NetworkObserver', () => {
  test('are those of one console, which the NetworkObserver owns', () => {
    const { objects, problems } = desiredFor({});
    assert.deepEqual(problems, []);
    assert.deepEqual(objects.map(({ of, object }) => `${of.kind}/${object.metadata.name}`).toSorted(), [
      'Certificate/network-observer-client',
      'Certificate/network-observer-tls',
      'Deployment/network-observer',
      'Role/network-observer',
      'RoleBinding/network-observer',
      'Service/network-observer',
      'ServiceAccount/network-observer',
    ]);
    for (const { object } of objects) {
      assert.deepEqual(object.metadata.ownerReferences, [
        { apiVersion: API, kind: 'NetworkObserver', name: 'network-observer', uid: 'o1' },
      ]);
    }
  });

  test('give the console no right to write, to read codes, or to read other Secrets', () => {
    const { rules = [] } = desiredOf<Role>(desiredFor({}), 'Role');
    assert.deepEqual([...new Set(rules.flatMap(({ verbs }) => verbs))].toSorted(), ['get', 'list', 'watch']);
    const read = rules.flatMap(({ resources, resourceNames = ['*'] }) =>
      resources.flatMap((kind) => resourceNames.map((name) => `${kind} ${name}`)),
    );
    assert.deepEqual(
      read.filter((right) => /secrets|access(?:grants|tokens)/.test(right)),
      ['secrets network-observer-client'],
    );
  });

  test('are served by HTTPS at port 443, with users of the Secret, and a certificate for the Service', () => {
    const desired = desiredFor({});
    assert.deepEqual(desiredOf<Service>(desired, 'Service').spec?.ports, [
      { name: 'https', port: 443, protocol: 'TCP', targetPort: 'https' },
    ]);
    const hosts = desiredOf<Certificate>(desired, 'Certificate', 'network-observer-tls').spec.hosts;
    assert.deepEqual(hosts?.toSorted(), [
      'network-observer',
      'network-observer.west',
      'network-observer.west.svc',
      'network-observer.west.svc.cluster.local',
    ]);
    const template = JSON.stringify(desiredOf<Deployment>(desired, 'Deployment').spec?.template);
    assert.match(template, /"--users=\/etc\/earshot\/users\/htpasswd"/);
    assert.match(template, /"secretName":"network-observer-auth","items":\[\{"key":"htpasswd","path":"htpasswd"\}\]/);
  });

  test('follow the service and the resources of the spec', () => {
    const desired = desiredFor({ service: { type: 'NodePort', port: 8443 }, resources: { limits: { memory: '1Gi' } } });
    const { type, ports } = desiredOf<Service>(desired, 'Service').spec ?? {};
    assert.deepEqual([type, ports?.map(({ port }) => port)], ['NodePort', [8443]]);
    assert.match(JSON.stringify(desiredOf(desired, 'Deployment')), /"resources":\{"limits":\{"memory":"1Gi"\}\}/);
  });

  test('leave the certificate to OpenShift or to the user', () => {
    const byOpenshift = desiredFor({ tls: { openshiftIssued: true } });
    const [certificate] = Object.entries(desiredOf(byOpenshift, 'Service').metadata.annotations ?? {});
    assert.deepEqual(certificate, ['service.beta.openshift.io/serving-cert-secret-name', 'network-observer-tls']);
    for (const desired of [byOpenshift, desiredFor({ tls: { secretName: 'mine' } })]) {
      assert.deepEqual(
        desired.objects.filter(({ of }) => of.kind === 'Certificate').map(({ object }) => object.metadata.name),
        ['network-observer-client'],
      );
    }
  });

  for (const spec of [{ tls: { secretName: 'skupper-site-ca' } }, { auth: { basic: { secretName: 'skupper-site-key' } } }]) {
    test(`do not exist while the spec names a Secret of the controller: ${JSON.stringify(spec)}`, () => {
      const { objects, problems } = desiredFor(spec);
      assert.deepEqual([objects, problems.map(({ code, severity }) => [code, severity])], [[], [['bad-argument', 'error']]]);
    });
  }

  test('do not take over a Service of a user', () => {
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'network-observer', namespace: 'west', uid: 's' } };
    const { objects, problems } = desiredFor({}, [service]);
    assert.equal(
      objects.some(({ of }) => of.kind === 'Service'),
      false,
    );
    assert.deepEqual(
      problems.map(({ code }) => code),
      ['name-taken'],
    );
  });

  test('are not created for a NetworkObserver that is being deleted, or that a Helm operator manages', () => {
    for (const metadata of [
      { deletionTimestamp: '2026-01-01T00:00:00Z' },
      { finalizers: ['helm.sdk.operatorframework.io/uninstall-release'] },
    ]) {
      assert.deepEqual(observerObjects(viewOf([SITE, anObserver({}, metadata)])).objects, []);
    }
  });

  test('are created for four in a namespace, the oldest', () => {
    const many = Array.from({ length: 6 }, (_, at) =>
      anObserver({}, { name: `network-observer-${at}`, uid: `o${at}`, creationTimestamp: `2026-01-0${6 - at}T00:00:00Z` }),
    );
    const { kept, surplus } = listObservers(viewOf([SITE, ...many]));
    assert.deepEqual(
      kept.map(({ metadata }) => metadata.name).toSorted(),
      [2, 3, 4, 5].map((at) => `network-observer-${at}`),
    );
    assert.equal(surplus.length, 2);
  });
});

suite('the status of a NetworkObserver', () => {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'network-observer-auth', namespace: 'west' },
    type: 'Opaque',
    data: { htpasswd: '' },
  };
  const owner = { apiVersion: API, kind: 'NetworkObserver', name: 'network-observer', uid: 'o1' };
  const deployment = (status: Deployment['status']): Deployment => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'network-observer', namespace: 'west', ownerReferences: [owner] },
    ...(status === undefined ? {} : { status }),
  });
  const refused: ResourceProblem = {
    resource: 'NetworkObserver/network-observer',
    severity: 'error',
    code: 'object-refused',
    message: 'denied by policy x.',
  };
  const cases: readonly (readonly [
    when: string,
    objects: readonly KubeObject[],
    problems: readonly ResourceProblem[],
    reason: string,
    message: RegExp,
  ])[] = [
    [
      'its console answers',
      [SITE, secret, deployment({ availableReplicas: 1 })],
      [],
      'InstallSuccessful',
      /https:\/\/network-observer\.west\.svc:443.*network-observer-auth/,
    ],
    ['its pod is not ready', [SITE, secret, deployment({})], [], 'Processing', /kubectl logs deployment\/network-observer/],
    [
      'its pod is refused',
      [SITE, secret, deployment({ conditions: [{ type: 'ReplicaFailure', status: 'True', message: 'exceeded quota' }] })],
      [],
      'ObjectRefused',
      /exceeded quota/,
    ],
    ['the Secret with users is missing', [SITE, deployment({ availableReplicas: 1 })], [], 'SecretAwaited', /Secret network-observer-auth/],
    ['the namespace has no Site', [secret, deployment({})], [], 'NoSite', /no Site/],
    ['an object is refused', [SITE, secret], [refused], 'ObjectRefused', /denied by policy x/],
  ];
  for (const [when, objects, problems, reason, message] of cases) {
    test(`is Deployed ${reason === 'InstallSuccessful'} when ${when}`, () => {
      const view = viewOf([anObserver(), ...objects]);
      const [observer] = listObservers(view).kept;
      assert.ok(observer);
      const { conditions } = observerStatus(view, observer, problems, '2026-01-01T00:00:00Z');
      const deployed = conditions.find(({ type }) => type === 'Deployed');
      assert.deepEqual([deployed?.status, deployed?.reason], [reason === 'InstallSuccessful' ? 'True' : 'False', reason]);
      assert.match(deployed?.message ?? '', message);
    });
  }

  test('has the release once it is created, and names the fields without effect', () => {
    const view = viewOf([SITE, secret, anObserver({ auth: { strategy: 'none' } }), deployment({ availableReplicas: 1 })]);
    const [observer] = listObservers(view).kept;
    assert.ok(observer);
    const { deployedRelease, conditions } = observerStatus(view, observer, [], '2026-01-01T00:00:00Z');
    assert.deepEqual(deployedRelease, { name: 'network-observer' });
    assert.deepEqual(
      conditions.map(({ type, status }) => [type, status]),
      [
        ['Initialized', 'True'],
        ['Deployed', 'True'],
        ['SpecSupported', 'False'],
      ],
    );
    assert.match(conditions[2]?.message ?? '', /auth\.strategy/);
  });
});
