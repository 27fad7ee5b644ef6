import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouterState } from '../../../src/router/contract.ts';
import { listAccesses, type Access } from '../../../src/site/plan/access.ts';
import { certificateHosts, endpointsOf, reachableHosts, type Reach } from '../../../src/site/site-endpoints.ts';
import { aRouterAccess, aSite, resources } from './fixtures.ts';

const direct: Reach = { kind: 'direct', hosts: ['192.0.2.7', 'box'] };
const addresses = {
  'RouterAccess/a/inter-router': [
    { host: 'lb.example', port: 30_671 },
    { host: '203.0.113.9', port: 30_671 },
  ],
  'RouterAccess/a/edge': [{ host: 'lb.example', port: 30_045 }],
};
const forwarded: Reach = { kind: 'forwarded', addresses };
const pending: Reach = { kind: 'forwarded', addresses: {} };

const listening: RouterState['accesses'] = {
  'RouterAccess/a/inter-router': { listening: true, port: 55_671 },
  'RouterAccess/a/edge': { listening: true },
};

function anAccess(spec: Parameters<typeof aRouterAccess>[1] = {}): Access {
  const all = resources(aRouterAccess('a', { roles: [{ name: 'inter-router', port: 0 }, { name: 'edge' }], ...spec }));
  const [access] = listAccesses(all, aSite()).accesses;
  assert.ok(access);
  return access;
}

const told = (access: Access, reach: Reach, states = listening): readonly string[] =>
  endpointsOf(access, reach, states).map(({ name, host, port, group }) => `${group} ${name} ${host} ${port}`);

for (const [name, access, reach, endpoints] of [
  [
    'reached directly',
    anAccess(),
    direct,
    ['a inter-router 192.0.2.7 55671', 'a edge 192.0.2.7 45671', 'a inter-router box 55671', 'a edge box 45671'],
  ],
  ['of one address', anAccess({ bindHost: '192.0.2.9' }), direct, ['a inter-router 192.0.2.9 55671', 'a edge 192.0.2.9 45671']],
  [
    'with names of its own',
    anAccess({ subjectAlternativeNames: ['west.example', 'west.example'] }),
    direct,
    ['a inter-router west.example 55671', 'a edge west.example 45671'],
  ],
  [
    'behind something else',
    anAccess({ bindHost: '192.0.2.9', subjectAlternativeNames: ['west.example'] }),
    forwarded,
    ['a inter-router lb.example 30671', 'a edge lb.example 30045', 'a inter-router 203.0.113.9 30671'],
  ],
  ['behind something that has no address yet', anAccess(), pending, []],
] as const) {
  test(`other sites receive the endpoints of an access ${name}`, () => assert.deepEqual(told(access, reach), endpoints));
}

test('other sites receive no endpoint that does not listen', () => {
  const states = { ...listening, 'RouterAccess/a/inter-router': { listening: false } };
  assert.deepEqual(told(anAccess(), direct, states), ['a edge 192.0.2.7 45671', 'a edge box 45671']);
  assert.deepEqual(told(anAccess(), forwarded, states), ['a edge lb.example 30045']);
  assert.deepEqual(told(anAccess(), direct, {}), []);
});

for (const [name, access, reach, hosts] of [
  ['any address', anAccess(), direct, ['192.0.2.7', 'box', 'localhost', '127.0.0.1', '::1']],
  [
    'one address and a name',
    anAccess({ bindHost: '192.0.2.9', subjectAlternativeNames: ['west.example'] }),
    direct,
    ['west.example', '192.0.2.9'],
  ],
  ['no access', undefined, direct, ['192.0.2.7', 'box', 'localhost', '127.0.0.1', '::1']],
  [
    'addresses of others',
    anAccess({ subjectAlternativeNames: ['west.example'] }),
    forwarded,
    ['west.example', 'lb.example', '203.0.113.9'],
  ],
  ['no address yet', anAccess(), pending, []],
  ['no access behind anything', undefined, forwarded, []],
] as const) {
  test(`a certificate for ${name} has the names by which it is reached`, () => assert.deepEqual(certificateHosts(access, reach), hosts));
}

test("a site without an access is reached by its machine's names", () => {
  assert.deepEqual(reachableHosts(undefined, direct), ['192.0.2.7', 'box']);
  assert.deepEqual(reachableHosts(undefined, forwarded), []);
});
