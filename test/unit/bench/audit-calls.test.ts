import assert from 'node:assert/strict';
import { it } from 'node:test';
import { callOf, NOTHING, sum, type Tally } from '../../../bench/cluster/audit-calls.ts';

interface Said {
  readonly verb: string;
  readonly agent?: string;
  readonly stage?: string;
  readonly uri?: string;
  readonly resource?: string;
}

function line(said: Said): string {
  const { verb, agent = 'earshot-controller', stage = 'ResponseComplete', uri = '/api/v1/services', resource = 'services' } = said;
  return JSON.stringify({ kind: 'Event', stage, requestURI: uri, verb, userAgent: agent, objectRef: { resource } });
}

function countsOf(said: Said): Partial<Tally> | undefined {
  const counts = callOf(line(said))?.counts;
  return counts === undefined ? undefined : Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
}

it('knows the programs by their user agents, and passes over all others', () => {
  const sidecar = 'csi-provisioner/v6.3.0 (linux/amd64) kubernetes/1234567';
  const known = [
    ['earshot-controller', 'controller'],
    ['earshot-csi-node', 'csi-node'],
    ['earshot-site-controller', 'site-controller'],
    ['earshot-router', 'router'],
    ['earshot-lease', 'lease'],
    ['earshot-router-lease', 'lease'],
    [sidecar, 'sidecar'],
    ['bench', undefined],
    ['kubelet/v1.36.3', undefined],
  ] as const;
  for (const [agent, program] of known) assert.equal(callOf(line({ verb: 'get', agent }))?.program, program, agent);
});

it('counts what changes something as a write, and an event as a write that is an event', () => {
  for (const verb of ['create', 'update', 'patch', 'delete', 'deletecollection']) assert.deepEqual(countsOf({ verb }), { writes: 1 });
  assert.deepEqual(countsOf({ verb: 'create', resource: 'events' }), { writes: 1, events: 1 });
});

it('counts gets and lists as reads', () => {
  assert.deepEqual(countsOf({ verb: 'get' }), { reads: 1 });
  assert.deepEqual(countsOf({ verb: 'list' }), { reads: 1, lists: 1 });
});

it('counts a watch once, when it begins, and as a list where it begins with one', () => {
  const listing = '/api/v1/services?watch=true&sendInitialEvents=true';
  assert.deepEqual(countsOf({ verb: 'watch', stage: 'ResponseStarted', uri: listing }), { reads: 1, lists: 1 });
  assert.deepEqual(countsOf({ verb: 'watch', stage: 'ResponseStarted' }), { watches: 1 });
  assert.equal(countsOf({ verb: 'watch', stage: 'ResponseComplete', uri: listing }), undefined);
});

it('keeps leases apart, whoever asks for them and however', () => {
  for (const verb of ['get', 'update', 'patch']) {
    assert.deepEqual(countsOf({ verb, resource: 'leases', agent: 'earshot-lease' }), { leases: 1 });
  }
  assert.deepEqual(countsOf({ verb: 'update', resource: 'leases', agent: 'csi-provisioner/v6.3.0' }), { leases: 1 });
});

it('says in words what was asked', () => {
  const said = JSON.stringify({
    stage: 'ResponseComplete',
    verb: 'patch',
    requestURI: '/x',
    userAgent: 'earshot-controller',
    objectRef: { resource: 'listeners', subresource: 'status', namespace: 'default', name: 'web' },
    responseStatus: { code: 404 },
  });
  assert.equal(callOf(said)?.text, 'controller: patch listeners/status default/web → 404');
  assert.equal(callOf(said)?.kind, 'controller: patch listeners/status');
  const bare = JSON.stringify({ stage: 'ResponseComplete', verb: 'get', requestURI: '/version', userAgent: 'earshot-csi-node' });
  assert.equal(callOf(bare)?.text, 'csi-node: get /version → no answer');
});

it('adds tallies up field by field', () => {
  const tally: Tally = { writes: 1, events: 2, reads: 3, lists: 4, watches: 5, leases: 6 };
  assert.deepEqual(sum(tally, tally), { writes: 2, events: 4, reads: 6, lists: 8, watches: 10, leases: 12 });
  assert.deepEqual(sum(tally, NOTHING), tally);
});
