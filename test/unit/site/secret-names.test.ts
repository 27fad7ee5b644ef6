import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isForRenewal, secretNames } from '../../../src/site/secret-names.ts';
import { aConnector, aLink, aListener, resources } from './fixtures.ts';

const own = ['skupper-local-server', 'skupper-site-key', 'skupper-site-server'];

test("a site's routers read the site's own Secrets, and each that a resource names, once", () => {
  const all = resources(
    aListener('web', { tlsCredentials: 'web' }),
    aConnector('web', { tlsCredentials: 'web' }),
    aLink('west', { tlsCredentials: 'link-west', settings: { 'proxy-configuration': 'proxy' } }),
    aConnector('plain'),
  );
  assert.deepEqual([...secretNames(all, ['attached', undefined])].toSorted(), [...own, 'attached', 'link-west', 'proxy', 'web'].toSorted());
});

test('no resource names a Secret with the key of an authority, nor what is no name', () => {
  const names = ['skupper-site-ca', 'skupper-local-ca', 'skupper-site-ledger', '', 'a,metadata.name!=b', '../x'];
  const all = resources(...names.map((tlsCredentials, index) => aListener(`l${index}`, { tlsCredentials })));
  assert.deepEqual([...secretNames(all)], own);
});

test("a link's Secret is renewed in place unless another client keeps it current", () => {
  const owned = (apiVersion: string, kind: string) => ({ ownerReferences: [{ apiVersion, kind }] });
  const [site, certificate, another] = [
    owned('skupper.io/v2alpha1', 'Site'),
    owned('skupper.io/v2alpha1', 'Certificate'),
    owned('cert-manager.io/v1', 'Certificate'),
  ];
  assert.deepEqual([{}, site, certificate, another, undefined].map(isForRenewal), [true, true, false, false, false]);
});
