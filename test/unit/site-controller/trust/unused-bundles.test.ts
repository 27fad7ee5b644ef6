/** The Secret of a token's Link goes with the Link, and no other Secret does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UNUSED_FOR } from '../../../../src/agent/unused-bundles.ts';
import { annotation } from '../../../../src/api/skupper/cluster-names.ts';
import { skupperResources, type AccessToken, type Link, type Listener } from '../../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../../src/api/skupper/names.ts';
import type { KubeObject, ObjectMeta } from '../../../../src/kube/objects.ts';
import { secrets } from '../../../../src/kube/resource.ts';
import { site, siteCa, trustWorld } from '../support/trust-world.ts';

const ofToken: ObjectMeta = {
  annotations: { [annotation.controlled]: 'true', [annotation.tokenBundle]: 'true' },
  ownerReferences: [{ apiVersion: API_VERSION, kind: 'Site', name: 'west', uid: 'site-1' }],
};
const metadata = (name: string): ObjectMeta => ({ namespace: 'west', name, uid: `uid-${name}` });
const link = (name: string, tlsCredentials: string): Link => ({
  apiVersion: API_VERSION,
  kind: 'Link',
  metadata: metadata(name),
  spec: { endpoints: [{ name: 'inter-router', host: 'east', port: '55671' }], tlsCredentials },
});
const listener: Listener = {
  apiVersion: API_VERSION,
  kind: 'Listener',
  metadata: metadata('web'),
  spec: { host: 'web', port: 443, routingKey: 'web', tlsCredentials: 'east' },
};
const token: AccessToken = {
  apiVersion: API_VERSION,
  kind: 'AccessToken',
  metadata: metadata('east'),
  spec: { url: 'https://127.0.0.1:1/v1/redeem/x', code: 'code', ca: 'ca' },
};

const redeemed: AccessToken = { ...token, status: { redeemed: true } };

const { ownerReferences: _, ...withoutOwner } = ofToken;

for (const [what, marks, objects, unreadable, isKept] of [
  ['no resource names it', ofToken, [], [], false],
  ['its token was redeemed and stays', ofToken, [redeemed], [], false],
  ['its Link is there', ofToken, [link('east', 'east')], [], true],
  ['another Link uses it', ofToken, [link('east-2', 'east')], [], true],
  ['a Listener uses it', ofToken, [listener], [], true],
  ['its token is being redeemed', ofToken, [token], [], true],
  ['some Link cannot be read', ofToken, [], [link('other', '')], true],
  ['some other resource cannot be read', ofToken, [], [listener], true],
  ['a user created it', {}, [], [], true],
  ['a user copied it without its owner', withoutOwner, [], [], true],
  [
    'it belongs to another Site',
    { ...ofToken, ownerReferences: [{ apiVersion: API_VERSION, kind: 'Site', name: 'west', uid: 'site-0' }] },
    [],
    [],
    true,
  ],
  ['it was not written for a token', { ...ofToken, annotations: { [annotation.controlled]: 'true' } }, [], [], true],
] as const) {
  test(`a Secret of a Link ${isKept ? 'stays' : 'is deleted'} where ${what}`, async () => {
    await using world = await trustWorld();
    const { api } = world.cluster;
    for (const of of Object.values(skupperResources)) {
      for (const object of objects) if (object.kind === of.kind) api.put<KubeObject>(of, object);
    }
    api.put(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'kubernetes.io/tls',
      metadata: { ...metadata('east'), ...marks },
      data: {},
    });
    const step = () => world.step([site(), siteCa, ...objects], { unreadable });
    const { again = Infinity } = await step();
    assert.ok(api.read(secrets, 'west/east') !== undefined, 'a Link that is replaced is absent for a moment');
    assert.equal(again <= UNUSED_FOR, !isKept, `${again}`);
    world.clock.advance(UNUSED_FOR);
    await step();
    assert.equal(api.read(secrets, 'west/east') !== undefined, isKept);
  });
}
