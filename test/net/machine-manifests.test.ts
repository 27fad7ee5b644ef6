/** Manifests as they are published for Skupper's sites on machines: without any certificate. */
import assert from 'node:assert/strict';
import { cp, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createAuthority, createNetwork, eventually, issue, manifest, startNginx, startSite, type Site } from './harness/index.ts';

const EAST = `
apiVersion: skupper.io/v2alpha1
kind: RouterAccess
metadata:
  name: go-east
spec:
  roles:
    - name: inter-router
      port: 55671
    - name: edge
      port: 45671
    - name: normal
      port: 5671
  bindHost: 0.0.0.0
  subjectAlternativeNames:
    - east
---
apiVersion: skupper.io/v2alpha1
kind: RouterAccess
metadata:
  name: branch
spec:
  roles:
    - name: inter-router
      port: 55672
  tlsCredentials: branch-tls
  issuer: branch-ca
  subjectAlternativeNames: [east]
---
apiVersion: skupper.io/v2alpha1
kind: RouterAccess
metadata:
  name: local
spec:
  roles:
    - name: normal
      port: 5672
  tlsCredentials: local
---
apiVersion: skupper.io/v2alpha1
kind: Connector
metadata:
  name: backend
spec:
  routingKey: backend
  host: 127.0.0.1
  port: 8443
  tlsCredentials: backend-tls
`;

const WEST = `
apiVersion: skupper.io/v2alpha1
kind: Site
metadata:
  name: west
spec:
  defaultIssuer: west-ca
---
apiVersion: skupper.io/v2alpha1
kind: Listener
metadata:
  name: backend
spec:
  routingKey: backend
  host: west
  port: 8443
  tlsCredentials: frontend-tls
---
apiVersion: skupper.io/v2alpha1
kind: MultiKeyListener
metadata:
  name: spare
spec:
  host: 127.0.0.1
  port: 8444
  tlsCredentials: spare-tls
  strategy:
    priority:
      routingKeys: [backend]
`;

/** Copies a static link as a script does. */
async function copyLink(from: Site, file: string, to: Site): Promise<void> {
  await eventually(`${file} of ${from.name}`, async () => (await readdir(from.layout.runtime.links)).includes(file));
  await cp(join(from.layout.runtime.links, file), join(to.layout.input.resources, file));
}

test('sites link and serve over TLS by manifests that name certificates which do not exist', async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east', 'north'], test: t });
  const [west, east, north] = [net.host('west'), net.host('east'), net.host('north')];
  const published = (site: Site, name: string) => {
    const [cert = '', key = '', ca = ''] = ['tls.crt', 'tls.key', 'ca.crt'].map((file) => join(site.layout.runtime.certs, name, file));
    return { cert, key, ca };
  };

  const siteEast = await startSite(east);
  await siteEast.write('all.yaml', EAST);
  for (const name of ['go-east', 'branch']) await siteEast.waitFor('RouterAccess', name);
  const { message } = await siteEast.waitFor('RouterAccess', 'local');
  assert.match(message ?? '', /spec\.roles\[0\]\.name: it is for local programs/);
  assert.equal(await east.listens(5672), false);
  const server = published(siteEast, 'backend-tls');
  await eventually('the copies for scripts', async () => (await stat(server.key)).size > 0);
  assert.deepEqual((await readdir(siteEast.layout.runtime.certs)).sort(), [
    'backend-tls',
    'branch-tls',
    'client-branch-tls',
    'client-go-east',
    'go-east',
  ]);
  await startNginx(east, { port: 8443, address: '127.0.0.1', tls: server });

  const siteWest = await startSite(west, { resources: [manifest('Site', 'west', { defaultIssuer: 'west-ca' })] });
  await siteWest.write('Site-west.yaml', WEST);
  await copyLink(siteEast, 'link-go-east-east.yaml', siteWest);
  await siteWest.waitFor('Link', 'link-go-east');
  await siteWest.waitFor('Listener', 'backend');
  await siteEast.waitFor('Connector', 'backend');
  const get = (ca: string, url: string): Promise<string> => west.run(['curl', '-sS', '--max-time', '20', '--cacert', ca, url]);
  const { ca } = published(siteWest, 'frontend-tls');
  assert.equal(await get(ca, 'https://west:8443/'), 'hello from east\n');
  assert.equal(await get(published(siteWest, 'spare-tls').ca, 'https://127.0.0.1:8444/'), 'hello from east\n');

  const siteNorth = await startSite(north);
  await copyLink(siteEast, 'link-branch-east.yaml', siteNorth);
  await siteNorth.waitFor('Link', 'link-branch');

  const own = await issue(await createAuthority(`${west.dir}/own`), 'frontend', { hosts: ['west'] });
  await siteWest.bundle('frontend-tls', own);
  await eventually('the bundle of the user', async () => (await get(own.ca, 'https://west:8443/')) === 'hello from east\n');

  const branch = (): Promise<string> => readFile(join(siteEast.layout.runtime.links, 'link-branch-east.yaml'), 'utf8');
  const revoked = await branch();
  await siteEast.earshot(['site', 'revoke', 'link-branch']);
  await siteNorth.waitFor('Link', 'link-branch', ({ status }) => status === 'Error');
  await eventually('another certificate', async () => (await branch()) !== revoked);
  await copyLink(siteEast, 'link-branch-east.yaml', siteNorth);
  await siteNorth.waitFor('Link', 'link-branch');
  assert.equal((await siteWest.status('Link', 'link-go-east'))?.status, 'Ready', 'the links of the other access go on');
});
