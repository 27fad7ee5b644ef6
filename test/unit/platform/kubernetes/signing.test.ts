import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMaps } from '../../../../src/kube/resource.ts';
import { startInformer } from '../../../../src/kube/watch/informer.ts';
import { ControllerSigning } from '../../../../src/platform/kubernetes/signing.ts';
import { eventually } from '../../../harness/wait.ts';
import type { PlayedApi } from '../../exposure/support/played-api.ts';
import { aNamespace, namespace, put } from './support.ts';

const NAME = `${namespace}/skupper-router-renewals`;
const peer = { certificate: Buffer.from('DER'), siteId: 'id-east' };

function aSigning(api: PlayedApi, patience?: number): ControllerSigning {
  const told = () => api.read(configMaps, `${namespace}/skupper-router`);
  const bundles = { get: () => Promise.resolve(undefined) };
  return new ControllerSigning({
    client: api,
    start: startInformer,
    namespace,
    configMap: told,
    bundles,
    ...(patience === undefined ? {} : { patience }),
  });
}

/** Answers the one request that is there. */
async function answer(api: PlayedApi, text: string): Promise<unknown> {
  const [entry, question] = await eventually('the request', () => Object.entries(api.read(configMaps, NAME)?.data ?? {})[0]);
  assert.match(entry, /^[0-9a-f]{32}$/);
  put(api, configMaps, 'skupper-router-renewals', { data: { [entry]: question, [`${entry}.answer`]: text } });
  return JSON.parse(question);
}

test('a renewal is asked of the controller, and nothing of it stays', async () => {
  const api = aNamespace();
  const renewed = aSigning(api).renew(peer, 'REQUEST');
  assert.deepEqual(await answer(api, '{"cert":"C","ca":"A"}'), { certificate: 'REVS', siteId: 'id-east', request: 'REQUEST' });
  assert.deepEqual(await renewed, { cert: 'C', ca: 'A' });
  assert.deepEqual(api.read(configMaps, NAME)?.data, {});
});

test('a refusal of the controller is passed on with its message', async () => {
  const api = aNamespace();
  const renewed = aSigning(api).renew(peer, 'REQUEST');
  renewed.catch(() => undefined);
  await answer(api, '{"refused":"the site is revoked"}');
  await assert.rejects(renewed, { code: 'server-failed', message: /the site is revoked/ });
});

test('a site without an answer is asked to retry later, and so is one with two requests at once', async () => {
  const api = aNamespace();
  const signing = aSigning(api, 20);
  const first = signing.renew(peer, 'REQUEST');
  await assert.rejects(signing.renew(peer, 'ANOTHER'), { code: 'server-busy' });
  await assert.rejects(first, { code: 'server-busy' });
  assert.deepEqual(api.read(configMaps, NAME)?.data, {});
});

test('revocations stay in force while the record is unavailable', async () => {
  const api = aNamespace();
  const signing = aSigning(api);
  const revoked = { sites: ['id-east'], serials: ['0A'] };
  put(api, configMaps, 'skupper-router', { data: { 'revoked.json': JSON.stringify(revoked) } });
  assert.deepEqual(await signing.revocations(), revoked);
  put(api, configMaps, 'skupper-router', { data: { 'revoked.json': '{' } });
  assert.deepEqual(await signing.revocations(), revoked);
  await assert.rejects(aSigning(api).revocations(), { code: 'state-damaged' });
  api.remove(configMaps, `${namespace}/skupper-router`);
  assert.deepEqual(await signing.revocations(), revoked);
  await assert.rejects(aSigning(api).revocations(), { code: 'state-unavailable' });
});
