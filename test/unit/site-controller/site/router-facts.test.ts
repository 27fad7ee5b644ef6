import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isOfSite, routerFacts, runningOf } from '../../../../src/site-controller/site/router-facts.ts';
import type { Site } from '../../../../src/api/skupper/index.ts';
import type { Deployment, KubeObject, Pod } from '../../../../src/kube/objects.ts';
import { viewOf } from '../support/view.ts';

type Status = NonNullable<Pod['status']>;

const ready: Status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const unready: Status = {
  phase: 'Running',
  conditions: [
    { type: 'Initialized', status: 'True' },
    { type: 'Ready', status: 'False', message: 'containers with unready status: [router]' },
  ],
};
const unscheduled: Status = {
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', message: '0/2 nodes are available' }],
};

describe('whether a site runs', () => {
  for (const [what, pods, deployments, expected] of [
    ['no pod', [], [], 'No router pod is ready'],
    ['one that is ready', [pod(ready)], [], undefined],
    ['one of two that is ready', [pod(unready), pod(ready)], [], undefined],
    ['one that is ready and ends', [pod(ready, { deletionTimestamp: '2026-01-01T00:00:00Z' })], [], 'No router pod is ready'],
    ['one that says it is ready and has failed', [pod({ ...ready, phase: 'Failed' })], [], 'No router pod is ready'],
    ['one that is not ready', [pod(unready)], [], 'containers with unready status: [router]'],
    ['one that finds no node', [pod(unscheduled)], [], '0/2 nodes are available'],
    [
      'one whose image cannot be had',
      [pod({ ...unready, containerStatuses: [{ name: 'router', state: { waiting: { reason: 'ErrImagePull', message: 'not found' } } }] })],
      [],
      'containers with unready status: [router]: ErrImagePull: not found',
    ],
    [
      'one whose container is just made',
      [pod({ ...unready, containerStatuses: [{ name: 'router', state: { waiting: { reason: 'ContainerCreating' } } }] })],
      [],
      'containers with unready status: [router]',
    ],
    ['one that may not be made', [], [refused('serviceaccount "x" not found')], 'No router pod is ready: serviceaccount "x" not found'],
  ] as const) {
    test(what, () => {
      const running = runningOf(pods, deployments);
      assert.equal(running.kind === 'done' ? undefined : running.message, expected);
    });
  }
});

describe('what a Site says of a pod that fails again and again', () => {
  const words = (...states: readonly NonNullable<Status['containerStatuses']>[number][]): ReadonlySet<string> =>
    new Set(
      states.map((container) => {
        const running = runningOf([pod({ ...unready, containerStatuses: [container] })], []);
        return running.kind === 'done' ? '' : running.message;
      }),
    );
  const waiting = (reason: string, message = '') => ({ name: 'router', state: { waiting: { reason, message } } });
  const last = { lastState: { terminated: { reason: 'Error', exitCode: 1 } } };

  test('is the same before, during and after each try to start its container', () => {
    const said = words(
      { name: 'router', state: { terminated: { reason: 'Error', exitCode: 1 } } },
      ...[10, 20, '2m40'].map((pause) => ({
        ...waiting('CrashLoopBackOff', `back-off ${pause}s restarting failed container=router pod=skupper-router-1_west(u)`),
        ...last,
      })),
      { ...waiting('ContainerCreating'), ...last },
      { name: 'router', state: {}, ...last },
    );
    assert.deepEqual([...said], ['containers with unready status: [router]: the container router has exited before (Error, exit code 1)']);
    const unknown = [10, 20].map((pause) => waiting('CrashLoopBackOff', `back-off ${pause}s restarting failed container=router`));
    assert.equal(words(...unknown).size, 1, 'also where nothing is known of how it ended');
  });

  test('is the same before and after each try to get its image, and says why that failed', () => {
    const why = (port: number): string => `failed to pull: dial tcp 192.0.2.1:${port}->192.0.2.53:53: i/o timeout`;
    const said = words(
      waiting('ErrImagePull', why(41_234)),
      waiting('ImagePullBackOff', `Back-off pulling image "earshot:1": ErrImagePull: ${why(51_234)}`),
    );
    assert.deepEqual(
      [...said],
      ['containers with unready status: [router]: ErrImagePull: failed to pull: dial tcp 192.0.2.1->192.0.2.53:53: i/o timeout'],
    );
    const older = words(waiting('ImagePullBackOff', 'Back-off pulling image "earshot:1"'));
    assert.deepEqual([...older], ['containers with unready status: [router]: ImagePullBackOff: Back-off pulling image "earshot:1"']);
  });
});

const site: Site = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', metadata: { name: 'west', uid: 'u1' }, spec: {} };

describe('whose a router pod is', () => {
  for (const [what, type, uid, expected] of [
    ["the site's", 'site', 'u1', true],
    ["another Site's", 'site', 'u0', false],
    ["an earlier controller's", 'site', undefined, true],
    ['something else with the label of a component', undefined, 'u1', false],
  ] as const) {
    test(what, () => {
      const labels = type === undefined ? {} : { 'skupper.io/type': type };
      const env = uid === undefined ? [] : [{ name: 'SITE_UID', value: uid }];
      assert.equal(isOfSite({ metadata: { labels }, spec: { containers: [{ name: 'router', env }] } }, site), expected);
    });
  }
});

test('a running Site reports routers that are not linked to each other, on one line that is cut', () => {
  const runs = pod(ready, { name: 'r', namespace: 'west', labels: { 'skupper.io/type': 'site' } });
  const noteOf = (apart: string, ...pods: readonly Pod[]): string | undefined => {
    const told = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'skupper-network-status' }, data: { 'routers-apart': apart } };
    const all = pods.map((each) => ({ apiVersion: 'v1', kind: 'Pod', ...each }));
    const { running } = routerFacts(viewOf([site, told, ...all] as readonly KubeObject[]));
    return running.kind === 'done' ? (running.note ?? '') : undefined;
  };
  assert.equal(noteOf('', runs), '');
  assert.equal(noteOf('a and b\nc and \u202ed', runs), 'a and b; c and \\u{202e}d');
  assert.ok((noteOf('x'.repeat(10_000), runs) ?? '').length <= 500);
  assert.equal(noteOf('a and b'), undefined);
});

test("a person's own ServiceAccount is named where no router is ready", () => {
  const messageOf = (serviceAccount: string): string | undefined => {
    const { running } = routerFacts(viewOf([{ ...site, spec: { serviceAccount } } as KubeObject]));
    return running.kind === 'done' ? undefined : running.message;
  };
  assert.equal(messageOf(''), 'No router pod is ready');
  assert.match(messageOf('mine') ?? '', /^No router pod is ready; check that the ServiceAccount "mine"/);
});

function pod(status: Status, metadata: Pod['metadata'] = {}): Pod {
  return { metadata, status };
}

function refused(message: string): Deployment {
  return { metadata: {}, status: { conditions: [{ type: 'ReplicaFailure', status: 'True', message }] } };
}
