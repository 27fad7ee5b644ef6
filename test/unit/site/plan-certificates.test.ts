import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Certificate } from '../../../src/api/skupper/index.ts';
import { planCertificates, type DesiredBundle } from '../../../src/site/plan/certificates.ts';
import type { SiteObject } from '../../../src/site/resources.ts';
import { aConnector, aLink, aListener, aMultiKeyListener, aRouterAccess, aSite, resources } from './fixtures.ts';

const reach = { kind: 'direct', hosts: ['192.0.2.1', 'west'] } as const;
const MACHINE = '192.0.2.1 west localhost 127.0.0.1 ::1';

const aCertificate = (name: string, spec: Partial<Certificate['spec']> = {}): SiteObject => ({
  apiVersion: 'skupper.io/v2alpha1',
  kind: 'Certificate',
  metadata: { name },
  spec: { ca: 'earshot-site-ca', subject: name, server: true, ...spec },
});

/** Name, resource, issuer, uses, purpose, and hosts; `!` if no others are accepted. */
function line({ name, resource, issuer, order }: DesiredBundle): string {
  const by = issuer.kind === 'named' ? `${issuer.name}${issuer.mayCreate === true ? '+' : ''}` : issuer.kind;
  const uses = [order.signing && 'ca', order.server && 'server', order.client && 'client'].filter(Boolean).join('+');
  return `${name} ${resource} ${by} ${uses} ${order.purpose ?? '-'} ${order.hosts.join(' ')}${order.isExact === true ? '!' : ''}`.trim();
}

const roles = [{ name: 'inter-router' }];

const table: readonly (readonly [what: string, objects: readonly SiteObject[], expected: readonly string[]])[] = [
  [
    'a RouterAccess without tlsCredentials has a bundle of its own name',
    [aRouterAccess('far', { tlsCredentials: '', bindHost: '192.0.2.9' })],
    ['far RouterAccess/far default server - 192.0.2.9!', 'client-far RouterAccess/far default client link'],
  ],
  [
    'hosts are the alternative names, then the address that is bound',
    [aRouterAccess('far', { tlsCredentials: 'tls', bindHost: '192.0.2.9', subjectAlternativeNames: ['west.example'] })],
    ['tls RouterAccess/far default server - west.example 192.0.2.9!', 'client-tls RouterAccess/far default client link'],
  ],
  [
    'an access on all addresses has the names of the machine, which come and go',
    [aRouterAccess('far', { tlsCredentials: 'tls', bindHost: '0.0.0.0' })],
    [`tls RouterAccess/far default server - ${MACHINE}`, 'client-tls RouterAccess/far default client link'],
  ],
  [
    'the CA that a RouterAccess names is created',
    [aRouterAccess('far', { tlsCredentials: 'tls', bindHost: '192.0.2.9', issuer: 'mine' })],
    ['tls RouterAccess/far mine+ server - 192.0.2.9!', 'client-tls RouterAccess/far mine+ client link'],
  ],
  [
    "skupper-site-ca is the site's own CA",
    [aRouterAccess('far', { tlsCredentials: 'tls', bindHost: '192.0.2.9', issuer: 'skupper-site-ca' })],
    ['tls RouterAccess/far default server - 192.0.2.9!', 'client-tls RouterAccess/far default client link'],
  ],
  [
    'two accesses may share a bundle, which has the names of both',
    [
      aRouterAccess('one', { tlsCredentials: 'tls', bindHost: '192.0.2.1', roles }),
      aRouterAccess('two', { tlsCredentials: 'tls', bindHost: '192.0.2.2', roles: [{ name: 'edge' }] }),
    ],
    ['tls RouterAccess/one default server - 192.0.2.1 192.0.2.2!', 'client-tls RouterAccess/one default client link'],
  ],
  ['a RouterAccess for local programs only has no bundle', [aRouterAccess('local', { roles: [{ name: 'normal' }] })], []],
  [
    'a Listener has a certificate for its host',
    [aListener('web', { host: 'db.example', tlsCredentials: 'web-tls' })],
    ['web-tls Listener/web skupper-service-ca+ server application db.example!'],
  ],
  [
    'a Listener on all addresses has the names of the machine too',
    [aListener('web', { host: '0.0.0.0', tlsCredentials: 'web-tls' })],
    [`web-tls Listener/web skupper-service-ca+ server application 0.0.0.0 ${MACHINE}`],
  ],
  [
    'a Listener of a container network has the name of the router there too',
    [aListener('web', { host: 'db', tlsCredentials: 'web-tls', settings: { network: 'apps' } })],
    ['web-tls Listener/web skupper-service-ca+ server application db earshot!'],
  ],
  [
    'a MultiKeyListener is as a Listener',
    [aMultiKeyListener('m', { tlsCredentials: 'm-tls' })],
    ['m-tls MultiKeyListener/m skupper-service-ca+ server application 127.0.0.1!'],
  ],
  [
    'a Connector has a certificate for its server, and presents it if it says so',
    [aConnector('db', { tlsCredentials: 'db-tls', useClientCert: true })],
    ['db-tls Connector/db skupper-service-ca+ server+client application db.internal!'],
  ],
  [
    'a Listener and a Connector may share a bundle',
    [aListener('web', { tlsCredentials: 'tls' }), aConnector('web', { tlsCredentials: 'tls' })],
    ['tls Listener/web skupper-service-ca+ server application 127.0.0.1 db.internal!'],
  ],
  ['the bundle of a Link is not taken', [aLink('east', { tlsCredentials: 'tls' }), aConnector('db', { tlsCredentials: 'tls' })], []],
  [
    'a Certificate decides about the bundle of its name',
    [aCertificate('tls', { ca: 'other' }), aListener('web', { tlsCredentials: 'tls' })],
    ['tls Certificate/tls other server application'],
  ],
  [
    "a Certificate with the name of an access's bundle, or of its client's, is a link's",
    [aRouterAccess('far', { tlsCredentials: 'far' }), aCertificate('far'), aCertificate('client-far', { server: false, client: true })],
    ['client-far Certificate/client-far default client link', 'far Certificate/far default server link'],
  ],
  [
    'an invalid host or name is left to the plan',
    [aListener('a', { host: 'a b', tlsCredentials: 'tls' }), aListener('b', { tlsCredentials: '../b' })],
    [],
  ],
  ['resources without tlsCredentials have no bundle', [aListener('web'), aConnector('db', { tlsCredentials: '' })], []],
];

for (const [what, objects, expected] of table) {
  test(what, () => {
    assert.deepEqual(planCertificates(resources(...objects), aSite(), reach).map(line), expected);
  });
}
