import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { NetworkObserver } from '../../../src/api/skupper/network-observer.ts';
import { explainObserver, type ObserverFacts } from '../../../src/explain/connection/explain-observer.ts';
import type { SiteFacts } from '../../../src/explain/connection/site-facts.ts';
import type { SkupperResource } from '../../../src/api/skupper/index.ts';
import type { Condition, Pod } from '../../../src/kube/objects.ts';

const NOW = Date.parse('2030-01-01T00:00:00Z');
const SITE = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', metadata: { name: 'west' }, spec: {} } as SkupperResource;

function siteFacts(overrides: Partial<SiteFacts> = {}): SiteFacts {
  return {
    place: { namespace: 'west', where: 'the namespace west', commandFlags: ' -n west', isMachine: false },
    version: '1',
    now: NOW,
    stopped: { value: undefined },
    objects: { value: [SITE] },
    written: { value: [] },
    problems: { value: [] },
    network: { value: { sites: [] } },
    links: { value: new Map() },
    incoming: { value: [] },
    bundles: { value: [] },
    ...overrides,
  };
}

const condition = (type: string, status: Condition['status'], reason: string, message = ''): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2029-12-31T00:00:00Z',
  observedGeneration: 1,
});
const SUPPORTED = condition('SpecSupported', 'True', 'Supported');

function observer(deployed: Condition, more: Partial<NetworkObserver> = {}, supported = SUPPORTED): NetworkObserver {
  return {
    apiVersion: 'observability.skupper.io/v2alpha1',
    kind: 'NetworkObserver',
    metadata: { name: 'network-observer', namespace: 'west', generation: 1 },
    status: { conditions: [condition('Initialized', 'True', 'Initialized'), deployed, supported] },
    ...more,
  };
}

const pod = (status: Pod['status'], creationTimestamp = '2029-12-31T23:59:50Z'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'network-observer-1', creationTimestamp },
  ...(status === undefined ? {} : { status }),
});
const object = { apiVersion: 'v1', kind: 'Object', metadata: { name: 'x' } };
const DEPLOYED = condition('Deployed', 'True', 'InstallSuccessful');
const working: ObserverFacts = {
  observer: observer(DEPLOYED),
  users: { value: { users: 1, unsupported: 0 } },
  tls: { value: object },
  pods: { value: [pod({ phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] })] },
  service: { value: object },
};

const failed = (reason: string, message: string): NetworkObserver => observer(condition('Deployed', 'False', reason, message));

suite('the chain of a NetworkObserver', () => {
  test('passes all steps if the console answers', () => {
    const { verdict, steps, object: of } = explainObserver(siteFacts(), working);
    assert.deepEqual([of, verdict], ['NetworkObserver/network-observer', 'pass']);
    assert.deepEqual(
      steps.map(({ id }) => id.replace('network-observer.', '')),
      ['process', 'spec', 'site', 'users', 'certificate', 'objects', 'pod', 'service', 'fields'],
    );
  });

  const waiting = (reason: string): Pod['status'] => ({
    phase: 'Pending',
    containerStatuses: [{ name: 'console', state: { waiting: { reason } } }],
  });
  const processing = failed('Processing', 'The pod of the console is not ready.');
  const cases: readonly (readonly [
    when: string,
    facts: Partial<ObserverFacts>,
    step: string,
    state: 'fail' | 'wait',
    says: RegExp,
    site?: Partial<SiteFacts>,
  ])[] = [
    ['nothing reconciles it', {}, 'process', 'fail', /controller is stopped/, { stopped: { value: 'The controller is stopped.' } }],
    ['it has no status', { observer: { ...observer(DEPLOYED), status: { conditions: [] } } }, 'spec', 'wait', /has not processed it yet/],
    [
      'another one has its name',
      { observer: failed('NameTaken', 'NetworkObserver/a has the console x; rename one of the two.') },
      'spec',
      'fail',
      /rename one of the two/,
    ],
    ['its Secret is one of the controller', { observer: failed('BadArgument', 'name another one') }, 'spec', 'fail', /name another one/],
    [
      'the namespace has no Site',
      { observer: failed('NoSite', 'This namespace has no Site. Create one.') },
      'site',
      'fail',
      /has no Site/,
      { objects: { value: [] } },
    ],
    [
      'its Secret does not exist and is left to the user',
      {
        observer: {
          ...failed('SecretAwaited', 'The Secret network-observer-auth does not exist.'),
          spec: { auth: { basic: { create: false } } },
        },
        users: { value: undefined },
      },
      'users',
      'fail',
      /network-observer-auth does not exist/,
    ],
    [
      'its Secret is about to be created',
      { observer: failed('SecretAwaited', 'The Secret network-observer-auth does not exist.'), users: { value: undefined } },
      'users',
      'wait',
      /network-observer-auth does not exist/,
    ],
    [
      'its Secret was deleted and is left to the user',
      { observer: observer(DEPLOYED, { spec: { auth: { basic: { create: false } } } }), users: { value: undefined } },
      'users',
      'fail',
      /the Secret network-observer-auth does not exist$/,
    ],
    ['its Secret was deleted', { users: { value: undefined } }, 'users', 'wait', /the Secret network-observer-auth does not exist yet/],
    ['its Secret has no user', { users: { value: { users: 0, unsupported: 0 } } }, 'users', 'fail', /has no user who can sign in$/],
    ['all passwords have bcrypt', { users: { value: { users: 0, unsupported: 2 } } }, 'users', 'fail', /lines without effect: 2/],
    [
      'its certificate is left to the user and does not exist',
      { observer: observer(DEPLOYED, { spec: { tls: { secretName: 'mine' } } }), tls: { value: undefined } },
      'certificate',
      'fail',
      /the Secret mine does not exist/,
    ],
    ['its certificate is not issued yet', { tls: { value: undefined } }, 'certificate', 'wait', /network-observer-tls does not exist yet/],
    [
      'a Deployment of another owner has its name',
      { observer: failed('ObjectForeign', 'Deployment network-observer exists already.') },
      'objects',
      'fail',
      /Deployment network-observer exists already/,
    ],
    [
      'its pod starts',
      { observer: processing, pods: { value: [pod(waiting('ContainerCreating'))] } },
      'pod',
      'wait',
      /^network-observer-1: /,
    ],
    [
      'its image cannot be pulled for long',
      { observer: processing, pods: { value: [pod(waiting('ImagePullBackOff'), '2029-12-31T00:00:00Z')] } },
      'pod',
      'fail',
      /^network-observer-1: ImagePullBackOff/,
    ],
    ['its pods may not be read', { observer: processing, pods: { unknown: 'no right' } }, 'pod', 'wait', /The pod of the console is not/],
    ['its Service is missing', { service: { value: undefined } }, 'service', 'wait', /the Service network-observer does not exist yet/],
  ];
  for (const [when, facts, step, state, says, site] of cases)
    test(`has the step ${step} as its cause if ${when}`, () => {
      const { cause, verdict } = explainObserver(siteFacts(site), { ...working, ...facts });
      assert.deepEqual([cause?.id, verdict], [`network-observer.${step}`, state]);
      assert.match(cause?.says ?? '', says);
    });

  test('warns of passwords and fields without effect', () => {
    const ignored = condition('SpecSupported', 'False', 'NotOnPlatform', 'These fields of the spec have no effect: image.');
    const facts = { ...working, observer: observer(DEPLOYED, {}, ignored), users: { value: { users: 1, unsupported: 1 } } };
    const { verdict, steps } = explainObserver(siteFacts(), facts);
    assert.equal(verdict, 'warn');
    assert.deepEqual(
      steps.filter(({ state }) => state === 'warn').map(({ id }) => id),
      ['network-observer.users', 'network-observer.fields'],
    );
  });

  test('does not examine one of a Helm operator', () => {
    const metadata = { name: 'network-observer', finalizers: ['helm.sdk.operatorframework.io/uninstall-release'] };
    const { verdict, steps } = explainObserver(siteFacts(), {
      ...working,
      tls: { value: undefined },
      service: { value: undefined },
      observer: { ...working.observer, metadata, status: { conditions: [] } },
    });
    assert.deepEqual([verdict, steps.length], ['unknown', 2]);
    assert.match(steps[1]?.says ?? '', /an operator of Helm manages it: its finalizers are helm\.sdk/);
  });

  test('passes the users if the Secret may not be read, and says which right the certificate lacks', () => {
    const lacks = { unknown: 'you have no right to get secrets in the namespace west' };
    const { steps, verdict } = explainObserver(siteFacts(), { ...working, users: lacks, tls: lacks });
    assert.equal(verdict, 'unknown');
    assert.deepEqual(
      steps.filter(({ state }) => state !== 'pass').map(({ id, says }) => [id, says]),
      [['network-observer.certificate', lacks.unknown]],
    );
  });
});
