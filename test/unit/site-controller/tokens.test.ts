import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { API_VERSION } from '../../../src/api/skupper/names.ts';
import type { AccessGrant, Link, Site } from '../../../src/api/skupper/index.ts';
import { GrantService } from '../../../src/site-controller/tokens/grant-service.ts';
import { labelLeader } from '../../../src/site-controller/tokens/leader-label.ts';
import type { PlayedApi } from '../exposure/support/played-api.ts';
import { grantServerObjects } from '../../../src/site-controller/tokens/grant-server-objects.ts';
import { SiteGrants } from '../../../src/site-controller/tokens/site-grants.ts';
import { linksByGroup } from '../../../src/agent/tokens.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { redeemToken } from '../../../src/trust/tokens/redeem.ts';
import { createKey } from '../../../src/x509/request.ts';
import { MemoryGrantStore, MemoryLedger } from '../trust/support/memory-stores.ts';
import { refusal } from '../trust/support/refusal.ts';
import { makeAuthority, makeSite } from '../trust/support/site.ts';
import { freePort } from '../support/free-port.ts';
import { settings, viewOf } from './support/view.ts';

const log = pino({ level: 'silent' }, { write: () => {} });
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const uids = { west: '11111111-1111-4111-8111-111111111111', east: '22222222-2222-4222-8222-222222222222' };

function site(namespace: string): Site {
  const endpoints = [{ name: 'inter-router', host: `${namespace}.example.com`, port: '55671', group: 'skupper-router' }];
  return {
    apiVersion: API_VERSION,
    kind: 'Site',
    metadata: { name: namespace, namespace, uid: `site-${namespace}` },
    spec: {},
    status: { endpoints },
  };
}

const grant = (name: keyof typeof uids): AccessGrant => ({
  apiVersion: API_VERSION,
  kind: 'AccessGrant',
  metadata: { name: 'for-all', namespace: name, uid: uids[name] },
  spec: { redemptionsAllowed: 1 },
});

describe('Tokens of a cluster', () => {
  it('of two namespaces are redeemed at one server, each by its own site', async () => {
    const port = await freePort();
    const authority = makeAuthority({ name: 'grants' });
    const { cert, key, ca } = issueBundle(authority, 'x', { subject: 'x', hosts: ['127.0.0.1'], server: true });
    let changes = 0;
    const grants = { ...settings.grants, port };
    await using grantService = new GrantService({ settings: grants, log, load: async () => secret, onChange: () => void changes++ });
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'skupper-grant-server' },
      data: { 'tls.crt': base64(cert), 'tls.key': base64(key), 'ca.crt': base64(ca) },
    };
    const access = {
      apiVersion: API_VERSION,
      kind: 'SecuredAccess',
      metadata: { name: 'skupper-grant-server' },
      spec: { selector: {}, ports: [] },
      status: { endpoints: [{ name: 'https', host: '127.0.0.1', port: String(port) }] },
    };
    const own = viewOf([secret, access], { namespace: 'skupper', settings: { grants } });
    await grantService.follow(own);
    await grantService.follow(own);
    assert.equal(changes, 1, 'nothing has changed the second time');

    const serve = async (name: keyof typeof uids) => {
      const ledger = new MemoryLedger();
      const signer = makeAuthority({ name });
      const store = new MemoryGrantStore({ ledger });
      const siteGrants = new SiteGrants({
        grantService,
        store,
        ledger,
        siteId: makeSite(name).siteId,
        authority: () => Promise.resolve(signer),
      });
      const step = () => siteGrants.step(viewOf([site(name), grant(name)], { namespace: name }), Date.now());
      const facts = (await step()).get('for-all');
      assert.ok(facts?.url !== undefined && facts.code !== undefined && facts.ca !== undefined);
      return { siteGrants, step, signer, token: { name: 'token', url: facts.url, code: facts.code, ca: facts.ca } };
    };
    const west = await serve('west');
    const east = await serve('east');
    const redeem = (token: typeof west.token) => redeemToken(token, { ...makeSite('north'), key: createKey() });
    for (const { token, signer, step } of [west, east]) {
      const { bundle, offer } = await redeem(token);
      assert.equal(bundle.ca, signer.ca);
      assert.equal(offer.endpoints[0]?.host, `${signer.name}.example.com`);
      assert.equal((await step()).get('for-all')?.redemptions, 1);
    }
    await assert.rejects(redeem({ ...west.token, code: east.token.code }), refusal('token-wrong-code'));
    await west.siteGrants[Symbol.asyncDispose]();
    await assert.rejects(redeem(west.token), refusal('token-unknown-grant'));
  });

  it('cannot be had where grants are not enabled', async () => {
    const grantService = new GrantService({
      settings: { ...settings.grants, enabled: false },
      log,
      load: async (secret) => secret,
      onChange: () => {},
    });
    const ledger = new MemoryLedger();
    const store = new MemoryGrantStore({ ledger });
    const grants = new SiteGrants({ grantService, store, ledger, siteId: '', authority: () => Promise.reject(new Error('none')) });
    const facts = await grants.step(viewOf([site('west'), grant('west')]), 0);
    assert.equal(facts.get('for-all')?.problem?.message, 'AccessGrants are not enabled');
  });

  it('need a server that is reachable, once for all sites and in the namespace of the controller', () => {
    const kinds = (namespace: string, changed: Partial<typeof settings.grants> = {}) =>
      grantServerObjects(viewOf([], { namespace, settings: { grants: { ...settings.grants, ...changed } } })).objects.map(
        ({ object }) => `${object.kind} ${object.metadata.name}`,
      );
    assert.deepEqual(kinds('skupper'), ['Certificate skupper-grant-server-ca', 'SecuredAccess skupper-grant-server']);
    assert.deepEqual(kinds('west'), []);
    assert.deepEqual(kinds('skupper', { enabled: false }), []);
    assert.deepEqual(kinds('skupper', { autoconfigure: false }), []);
  });
});

describe('A token', () => {
  const link = (groups: readonly (string | undefined)[]): Link => ({
    apiVersion: API_VERSION,
    kind: 'Link',
    metadata: { name: 'west' },
    spec: { endpoints: groups.map((group) => ({ name: 'inter-router', host: 'h', port: '1', ...(group === undefined ? {} : { group }) })) },
  });
  for (const [groups, names] of [
    [[undefined], ['west']],
    [['a', 'a'], ['west']],
    [
      ['a', 'b', 'a'],
      ['west-1', 'west-2'],
    ],
  ] as const) {
    it(`of endpoints of ${groups.join(', ') || 'no group'} becomes ${names.join(' and ')}`, () => {
      const links = linksByGroup(link(groups));
      assert.deepEqual(
        links.map(({ metadata }) => metadata.name),
        names,
      );
      assert.equal(links.flatMap(({ spec }) => spec.endpoints).length, groups.length);
    });
  }
});

describe('The label of the controller that leads', () => {
  const podNamed = (name: string, labels: Record<string, string> = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'skupper', name, labels },
  });
  for (const [what, all, patched] of [
    ['is put on its pod, and taken off the one before', [podNamed('new'), podNamed('old', { 'earshot/leader': 'true' })], ['old', 'new']],
    ['is not written again', [podNamed('new', { 'earshot/leader': 'true' })], []],
  ] as const) {
    it(what, async () => {
      const written: string[] = [];
      const client = {
        async *list() {
          yield* all.filter(({ metadata }) => 'earshot/leader' in metadata.labels);
        },
        patch: (_of: unknown, { name }: { readonly name: string }) => Promise.resolve(void written.push(name)),
      };
      await labelLeader(client as unknown as PlayedApi, { namespace: 'skupper', pod: 'new' }, new AbortController().signal);
      assert.deepEqual(written, patched);
    });
  }
});
