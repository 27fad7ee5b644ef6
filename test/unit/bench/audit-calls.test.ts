import assert from 'node:assert/strict';
import { it } from 'node:test';
import { callOf, type Tally } from '../../../bench/cluster/audit-calls.ts';

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

it('counts leases apart from other calls, for any client and any verb', () => {
  for (const verb of ['get', 'update', 'patch']) {
    assert.deepEqual(countsOf({ verb, resource: 'leases', agent: 'earshot-lease' }), { leases: 1 });
  }
  assert.deepEqual(countsOf({ verb: 'update', resource: 'leases', agent: 'csi-provisioner/v6.3.0' }), { leases: 1 });
});
