/** Headers in which a proxy names the user. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { proxyIdentityOf } from '../../../src/console/proxy-identity.ts';

suite('the identity that a proxy names', () => {
  const user = (username: string, ...groups: readonly string[]) => ({ username, groups: [...groups, 'system:authenticated'] });
  const cases: readonly (readonly [
    what: string,
    headers: Readonly<Record<string, readonly string[]>>,
    isProxy: boolean,
    expected: unknown,
  ])[] = [
    ['nothing without headers', {}, true, undefined],
    ['nothing without headers and without a certificate', {}, false, undefined],
    ['a user', { 'x-remote-user': ['ann'] }, true, user('ann')],
    ['a user with groups', { 'x-remote-user': ['ann'], 'x-remote-group': ['dev', 'ops'] }, true, user('ann', 'dev', 'ops')],
    [
      'a user without the groups of the cluster itself',
      { 'x-remote-user': ['ann'], 'x-remote-group': ['system:masters', 'dev'] },
      true,
      user('ann', 'dev'),
    ],
    ['a refusal of a user without a certificate', { 'x-remote-user': ['ann'] }, false, 'refused'],
    ['a refusal of groups without a certificate', { 'x-remote-group': ['dev'] }, false, 'refused'],
    ['a refusal of groups without a user', { 'x-remote-group': ['dev'] }, true, 'refused'],
    ['a refusal of two users', { 'x-remote-user': ['ann', 'bob'] }, true, 'refused'],
    ['a refusal of an empty user', { 'x-remote-user': [''] }, true, 'refused'],
    ['a refusal of an account of the cluster', { 'x-remote-user': ['system:admin'] }, true, 'refused'],
    ['a refusal of a long user', { 'x-remote-user': ['x'.repeat(257)] }, true, 'refused'],
    ['a refusal of a long group', { 'x-remote-user': ['ann'], 'x-remote-group': ['x'.repeat(257)] }, true, 'refused'],
    [
      'a refusal of many groups',
      { 'x-remote-user': ['ann'], 'x-remote-group': Array.from({ length: 257 }, (_, at) => `g${at}`) },
      true,
      'refused',
    ],
  ];
  for (const [what, headers, isProxy, expected] of cases) {
    test(`is ${what}`, () => assert.deepEqual(proxyIdentityOf(headers, isProxy), expected));
  }
});
