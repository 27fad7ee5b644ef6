import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { momentOf } from '../../../bench/exposure/audit-moments.ts';
import { paceOf, startsOf, type Moment } from '../../../bench/exposure/pod-start.ts';

const SPACE = 'bench-pods-1';
const T0 = Date.parse('2026-01-31T12:00:00.000000Z');

interface Said {
  readonly verb: string;
  readonly resource: string;
  readonly name?: string;
  readonly agent?: string;
  readonly code?: number;
  readonly namespace?: string;
}

function moment({ verb, resource, name = 'web-0', agent = 'x', code = 200, namespace = SPACE }: Said): Moment | undefined {
  const [plural, subresource] = resource.split('/');
  const objectRef = { resource: plural, subresource, namespace, name };
  const stageTimestamp = '2026-01-31T12:00:01.500000Z';
  const said = { stage: 'ResponseComplete', verb, userAgent: agent, objectRef, responseStatus: { code }, stageTimestamp };
  return momentOf(JSON.stringify(said), SPACE);
}

describe('a line of the audit log', () => {
  it('yields each stage of a pod that the log records', () => {
    const told = [
      moment({ verb: 'create', resource: 'pods' }),
      moment({ verb: 'create', resource: 'pods/binding' }),
      moment({ verb: 'update', resource: 'persistentvolumeclaims/status', name: 'listener-web-0' }),
      moment({ verb: 'create', resource: 'podlisteners', name: 'pod-u0', agent: 'earshot-csi-node' }),
      moment({ verb: 'patch', resource: 'podlisteners/status', name: 'pod-u0', agent: 'earshot-controller' }),
    ];
    assert.deepEqual(
      told.map((each) => [each?.of, each?.name, each?.stage, (each?.at ?? 0) - T0]),
      [
        ['pod', 'web-0', 'created', 1_500],
        ['pod', 'web-0', 'scheduled', 1_500],
        ['claim', 'listener-web-0', 'claim bound', 1_500],
        ['uid', 'u0', 'mount asked for', 1_500],
        ['uid', 'u0', 'mount answered', 1_500],
      ],
    );
  });

  it('yields nothing for failed calls, reads and other namespaces', () => {
    assert.equal(moment({ verb: 'create', resource: 'pods', code: 409 }), undefined);
    assert.equal(moment({ verb: 'get', resource: 'persistentvolumeclaims/status' }), undefined);
    assert.equal(moment({ verb: 'create', resource: 'pods', namespace: 'default' }), undefined);
    assert.equal(moment({ verb: 'update', resource: 'podlisteners', agent: 'kubectl' }), undefined);
  });
});

it('takes the last writing of a claim that the scheduler waited for, and the first of everything else', () => {
  const at = (of: Moment['of'], name: string, stage: Moment['stage'], seconds: number): Moment => ({
    of,
    name,
    stage,
    at: T0 + 1_000 * seconds,
  });
  const moments = [
    at('pod', 'web-0', 'created', 1),
    at('claim', 'listener-web-0', 'claim bound', 2),
    at('claim', 'listener-web-0', 'claim bound', 3),
    at('claim', 'listener-web-0', 'claim bound', 9),
    at('pod', 'web-0', 'scheduled', 4),
    at('uid', 'u0', 'mount asked for', 5),
    at('uid', 'u0', 'mount asked for', 6),
    at('pod', 'web-0', 'running', 7),
    at('pod', 'web-1', 'running', 8),
  ];
  const pods = [
    { name: 'web-0', uid: 'u0' },
    { name: 'web-1', uid: 'u1' },
  ];
  assert.deepEqual(startsOf(pods, moments, T0), [
    { pod: 'web-0', moments: { created: 1, 'claim bound': 3, scheduled: 4, 'mount asked for': 5, running: 7 } },
    { pod: 'web-1', moments: { running: 8 } },
  ]);
});

it('says when half, nine of ten and all of the pods run, and how far behind the last but two the last is', () => {
  assert.deepEqual(paceOf([9, 1, 2, 3, 4, 5, 6, 7, 8, 30]), { median: 5.5, p90: 9, last: 30, gap: 22 });
  assert.deepEqual(paceOf([3, 1]), { median: 2, p90: 3, last: 3, gap: 2 });
});
