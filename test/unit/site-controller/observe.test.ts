import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observeNamespace } from '../../../src/site-controller/observe.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import type { TrustFacts } from '../../../src/site/observe/trust-facts.ts';
import { viewOf } from './support/view.ts';

const apiVersion = 'skupper.io/v2alpha1';
const of = (kind: string, name: string, spec: object = {}): KubeObject & { readonly spec: object } => ({
  apiVersion,
  kind,
  metadata: { name, uid: name },
  spec,
});
const site = of('Site', 'west');
const token = of('AccessToken', 'to-east', { url: 'https://east', code: 'c', ca: 'ca' });
const link = of('Link', 'to-east-1', { endpoints: [], tlsCredentials: 'to-east' });
const trust: TrustFacts = { certificates: new Map(), grants: new Map(), tokens: new Map([['to-east', { redeemed: true }]]) };

function messageOf(objects: readonly KubeObject[]): string | undefined {
  const statuses = observeNamespace(viewOf(objects), { problems: [], trust }, '2026-01-01T00:00:00Z');
  return statuses.get('AccessToken/to-east')?.message;
}

test('a token whose Link exists is reported as redeemed only', () => {
  assert.equal(messageOf([site, token, link]), 'OK');
  assert.equal(messageOf([site, token]), 'OK', 'the Link that was just made is not seen yet');
  const redeemed = { ...token, status: { redeemed: true } };
  assert.match(messageOf([site, redeemed]) ?? '', /^Already redeemed for a deleted site.*ask for a new token/);
});

test('states of routers are not reported, unless there is no Site', () => {
  const kinds = (objects: readonly KubeObject[]): readonly string[] =>
    [...observeNamespace(viewOf(objects), { problems: [], trust }, '2026-01-01T00:00:00Z').keys()].sort();
  assert.deepEqual(kinds([site, link]), ['Site/west']);
  assert.deepEqual(kinds([link]), ['Link/to-east-1']);
});
