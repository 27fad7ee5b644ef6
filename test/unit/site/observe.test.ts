import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListenerStatus, SiteStatus } from '../../../src/api/skupper/index.ts';
import type { RouterRecord, RouterState } from '../../../src/router/contract.ts';
import { noTrust, type TrustFacts } from '../../../src/site/observe/trust-facts.ts';
import { observeSite, type AnyStatus } from '../../../src/site/observe/observe.ts';
import type { MessageFormat } from '../../../src/site/observe/message-format.ts';
import type { Material } from '../../../src/site/material.ts';
import { planSite } from '../../../src/site/plan/plan.ts';
import type { ResourceKey, SiteObject } from '../../../src/site/resources.ts';
import { aConnector, aLink, aListener, aMaterial, aMultiKeyListener, aRouterAccess, aSite, resources, whole } from './fixtures.ts';

const idle: RouterState = { listeners: {}, connectors: {}, links: {}, accesses: {}, incoming: [], network: [] };

function observe(
  objects: readonly SiteObject[],
  router: Partial<RouterState> | undefined = {},
  options: {
    readonly previous?: ReadonlyMap<ResourceKey, AnyStatus>;
    readonly now?: string;
    readonly trust?: TrustFacts;
    readonly material?: Partial<Material>;
    readonly wording?: MessageFormat;
    readonly serving?: readonly string[];
  } = {},
): ReadonlyMap<ResourceKey, AnyStatus> {
  const all = resources(...objects);
  const server = { ...whole, name: 'earshot-site-server' };
  const plan = planSite(
    all,
    aMaterial({
      bundles: new Map([
        ['whole', whole],
        [server.name, server],
      ]),
      ...options.material,
    }),
  );
  const controller = { name: 'earshot', namespace: 'west', version: '1' };
  return observeSite(
    {
      resources: all,
      plan,
      problems: [],
      trust: options.trust ?? noTrust,
      reach: { kind: 'direct', hosts: ['192.0.2.7', 'box'] },
      controller,
      wording: options.wording ?? 'codes',
      ...(options.serving === undefined ? {} : { serving: options.serving }),
      ...(router === undefined ? {} : { router: { ...idle, ...router } }),
    },
    options.previous ?? new Map(),
    options.now ?? '2026-01-01T00:00:00Z',
  );
}

function short(status: AnyStatus | undefined): string {
  return `${status?.status}: ${status?.message}`;
}

for (const [name, state, expected] of [
  ['not known to the router', undefined, 'Pending: the router starts'],
  ['without a connector', { listening: false, reachableKeys: [] }, 'Pending: no connector of routing key "web" can be reached'],
  ['with a connector but its socket not open yet', { listening: false, reachableKeys: ['web'] }, 'Pending: its socket is being opened'],
  [
    'with servers that took no connection',
    { listening: true, reachableKeys: ['web'], refusedBy: ['of-an-unknown-site'] },
    'Pending: its servers refuse connections: see `earshot connector status` at of-an-unknown-site',
  ],
  ['with a connector and an open socket', { listening: true, reachableKeys: ['web'] }, 'Ready: OK'],
  [
    'with a port that is taken',
    { listening: false, reachableKeys: ['web'], problem: { code: 'port-in-use', message: 'taken by nginx' } },
    'Error: taken by nginx',
  ],
] as const) {
  test(`a listener ${name} is ${expected}`, () => {
    const statuses = observe([aSite(), aListener('web')], { listeners: state === undefined ? {} : { 'Listener/web': state } });
    assert.equal(short(statuses.get('Listener/web')), expected);
  });
}

for (const [name, reason, network, expected] of [
  [
    'whose site is gone',
    'The link with the site ended: silent for 15 s.',
    [],
    'Pending: site "east", which served it, is unreachable since 2026-01-01T12:00:00Z: The link with the site ended: silent for 15 s',
  ],
  [
    'whose connector was deleted at a site that is still there',
    'The site no longer has a connector of this routing key.',
    [{ router: 'r', site: { id: 'e', name: 'east', namespace: '', platform: '', version: '' }, edge: false, links: [], keys: [] }],
    'Pending: site "east" has had no connector of routing key "web" since 2026-01-01T12:00:00Z',
  ],
] as const) {
  test(`a listener ${name} says which site it was, since when and why`, () => {
    const lost = { routingKey: 'web', siteId: 'e', siteName: 'east', since: Date.UTC(2026, 0, 1, 12), reason };
    const listeners = { 'Listener/web': { listening: false, reachableKeys: [], lostSites: [lost] } };
    assert.equal(short(observe([aSite(), aListener('web')], { listeners, network }).get('Listener/web')), expected);
  });
}

test('a link whose bundle is not valid yet says so once, however many of its certificates are', () => {
  const early = (file: string) => ({ code: 'tls-not-yet-valid' as const, message: `${file} is valid later`, passing: true });
  const links = { 'Link/east': { operational: false, problem: { code: 'tls-not-yet-valid' as const, message: 'tls.crt is valid later' } } };
  const material = { check: () => [early('tls.crt'), early('ca.crt')] };
  const status = observe([aSite(), aLink('east', { tlsCredentials: 'whole' })], { links }, { material }).get('Link/east');
  assert.equal(short(status), 'Error: tls.crt is valid later');
});

test('a site lists the links that others opened to it, those that ended last', () => {
  const since = Date.UTC(2026, 0, 1, 12);
  const incoming = [{ siteId: 'e', siteName: 'east', serial: '1', address: '192.0.2.1:4000', cost: 2, since }];
  const endedIncoming = [
    { siteId: 's', siteName: 'south', address: '192.0.2.2:4000', cost: 1, since, until: since + 60_000, reason: 'silent\nfor 15 s' },
  ];
  const status = observe([aSite()], { incoming, endedIncoming }).get('Site/west');
  assert.deepEqual((status as SiteStatus).incomingLinks, [
    { siteId: 'e', siteName: 'east', address: '192.0.2.1:4000', cost: 2, operational: true, since: '2026-01-01T12:00:00Z' },
    {
      siteId: 's',
      siteName: 'south',
      address: '192.0.2.2:4000',
      cost: 1,
      operational: false,
      since: '2026-01-01T12:01:00Z',
      message: 'silent for 15 s',
    },
  ]);
  assert.equal((observe([aSite()]).get('Site/west') as SiteStatus).incomingLinks, undefined);
});

test('a site lists the links that come in at its other router, and not those that it opens itself', () => {
  const site = (id: string) => ({ id, name: id, namespace: '', platform: '', version: '' });
  const linked = ['w', 'e', 's'].map((id) => ({ name: id, siteId: id, siteName: id, cost: 1 }));
  const network = [
    { router: '1', site: site('w'), edge: false, links: [], keys: [] },
    { router: '2', site: site('w'), edge: false, links: linked, keys: [] },
  ];
  const links = { 'Link/east': { operational: true, remoteSiteId: 'e' } };
  assert.deepEqual((observe([aSite()], { network, links }).get('Site/west') as SiteStatus).incomingLinks, [
    { siteId: 's', siteName: 's', cost: 1, operational: true },
  ]);
});

const closedPort = { code: 'target-refused', message: 'Connection refused: nothing is listening at 127.0.0.1:5432.' } as const;
const start = `${closedPort.message} Start the server, or correct spec.host and spec.port`;
for (const [name, state, expected, configured] of [
  [
    'whose server is tried for the first time',
    { matched: true, servers: { kind: 'untried' } },
    'Pending: its server is being tried',
    'True',
  ],
  [
    'whose server never took a connection',
    { matched: false, servers: { kind: 'failing', problem: closedPort, worked: false } },
    `Pending: ${start}`,
    'True',
  ],
  ['whose server is gone', { matched: true, servers: { kind: 'failing', problem: closedPort, worked: true } }, `Error: ${start}`, 'True'],
  [
    'whose server shows a wrong certificate',
    { matched: true, servers: { kind: 'failing', problem: { code: 'target-tls-certificate', message: 'not it' }, worked: false } },
    'Error: not it',
    'True',
  ],
  ['with a bundle that is no good', { matched: true, problem: { code: 'tls-no-key', message: 'no key' } }, 'Error: no key', 'False'],
] as const) {
  test(`a connector ${name} is ${expected}`, () => {
    const status = observe([aSite(), aConnector('db')], { connectors: { 'Connector/db': state } }).get('Connector/db');
    assert.equal(short(status), expected);
    assert.deepEqual(
      status?.conditions?.filter(({ type }) => type !== 'Matched').map((condition) => `${condition.type} ${condition.status}`),
      [`Configured ${configured}`, 'Ready False'],
    );
  });
}

test('a listener whose servers fail keeps its connector: only Ready is false, with the reason', () => {
  const state = { listening: true, reachableKeys: ['web'], refusedBy: ['x'] };
  for (const [wording, reason] of [
    ['codes', 'ServersFailing'],
    ['words', 'Pending'],
  ] as const) {
    const status = observe([aSite(), aListener('web')], { listeners: { 'Listener/web': state } }, { wording }).get('Listener/web');
    assert.deepEqual(
      status?.conditions?.map((condition) => `${condition.type} ${condition.status}`),
      ['Configured True', 'Matched True', 'Ready False'],
    );
    assert.equal(status?.conditions?.at(-1)?.reason, reason);
  }
});

test('a connector and a link say that their names are not resolved, and of when the addresses are that they use', () => {
  const link = aLink('hub', { endpoints: [{ name: 'inter-router', host: 'hub.example', port: '55671' }] });
  const statuses = observe([aSite(), aConnector('db', { host: 'db.example' }), aConnector('other'), link], {
    connectors: { 'Connector/db': { matched: true }, 'Connector/other': { matched: true } },
    links: { 'Link/hub': { operational: true } },
    staleNames: { 'db.example': Date.UTC(2026, 0, 1, 12), 'hub.example': Date.UTC(2026, 0, 2), unused: 0 },
  });
  const note = (name: string, time: string): string =>
    `Ready: OK; the name "${name}" is not resolved at present: its addresses of ${time} are used`;
  assert.equal(short(statuses.get('Connector/db')), note('db.example', '2026-01-01T12:00:00Z'));
  assert.equal(short(statuses.get('Connector/other')), 'Ready: OK');
  assert.ok(short(statuses.get('Link/hub')).includes(note('hub.example', '2026-01-02T00:00:00Z').slice(11)));
});

test('a listener is ready exactly when all its conditions are true', () => {
  const states: readonly RouterState['listeners'][string][] = [
    { listening: true, reachableKeys: ['web'] },
    { listening: false, reachableKeys: ['web'] },
    { listening: false, reachableKeys: [] },
    { listening: false, reachableKeys: [], problem: { code: 'failed', message: 'x' } },
  ];
  for (const state of states) {
    const status = observe([aSite(), aListener('web')], { listeners: { 'Listener/web': state } }).get('Listener/web');
    assert.deepEqual(
      status?.conditions?.map(({ type }) => type),
      ['Configured', 'Matched', 'Ready'],
    );
    assert.equal(
      status?.status === 'Ready',
      status?.conditions?.every((condition) => condition.status === 'True'),
    );
  }
});

test('a resource that cannot be planned is an error with the field and the remedy', () => {
  const status = observe([aSite(), aListener('web', { tlsCredentials: 'absent' })]).get('Listener/web');
  assert.match(
    short(status),
    /^Error: spec\.tlsCredentials: the TLS bundle "absent" does not exist; put tls\.crt and tls\.key into input\/certs\/absent\/\.$/,
  );
  assert.equal(status?.conditions?.[0]?.reason, 'TlsMissing');
});

test('without a Site resources wait', () => {
  assert.match(short(observe([aListener('web')], undefined).get('Listener/web')), /^Pending: this namespace has no Site/);
});

test('a condition keeps its time while its status is the same', () => {
  const objects = [aSite(), aListener('web', { routingKey: 'a' })];
  const first = observe(objects, {}, { now: '2026-01-01T00:00:00Z' });
  const listeners = { 'Listener/web': { listening: false, reachableKeys: [] } };
  const second = observe(objects, { listeners }, { previous: first, now: '2026-01-02T00:00:00Z' });
  assert.deepEqual(
    second.get('Listener/web')?.conditions?.map(({ type, lastTransitionTime }) => `${type} ${lastTransitionTime}`),
    ['Configured 2026-01-02T00:00:00Z', 'Matched 2026-01-01T00:00:00Z', 'Ready 2026-01-01T00:00:00Z'],
  );
});

test('a connector says whether a listener of its key is in the network', () => {
  const waiting = observe([aSite(), aConnector('db')], { connectors: { 'Connector/db': { matched: false } } }).get('Connector/db');
  assert.match(short(waiting), /^Pending: no listener of routing key "db"/);
  const ready = observe([aSite(), aConnector('db')], { connectors: { 'Connector/db': { matched: true } } }).get('Connector/db');
  assert.equal(short(ready), 'Ready: OK');
  assert.ok(ready !== undefined && 'hasMatchingListener' in ready && ready.hasMatchingListener);
});

test('a link that is down reports why, and still its remote site', () => {
  const problem = { code: 'refused', message: 'connection refused' } as const;
  const status = observe([aSite(), aLink('east')], { links: { 'Link/east': { operational: false, remoteSiteName: 'east', problem } } }).get(
    'Link/east',
  );
  assert.equal(short(status), 'Error: connection refused');
  assert.ok(status !== undefined && 'remoteSiteName' in status && status.remoteSiteName === 'east');
});

test('a link whose first attempt is slow is Pending, and says so', () => {
  const slow = 'east:1 has not answered within 5 s.';
  const status = observe([aSite(), aLink('east')], { links: { 'Link/east': { operational: false, slow } } }).get('Link/east');
  assert.equal(short(status), `Pending: ${slow}`);
});

test('a link shows where its site says that it is reached', () => {
  const announced = [{ host: '192.0.2.7', port: 30_001 }];
  const status = observe([aSite(), aLink('east')], { links: { 'Link/east': { operational: true, announced } } }).get('Link/east');
  assert.deepEqual(status !== undefined && 'endpoints' in status && status.endpoints, [{ host: '192.0.2.7', port: '30001' }]);
});

test("for tools that parse messages, reasons are Ready, Pending and Error, and messages begin as Skupper's do", () => {
  const words = (objects: readonly SiteObject[], router?: Partial<RouterState>) =>
    [...observe(objects, router, { wording: 'words' }).values()].flatMap(({ conditions = [], status, message }) => [
      ...conditions.map(({ type, reason, message: why }) => `${type} ${reason}: ${why}`),
      `${status}: ${message}`,
    ]);
  assert.deepEqual(words([aListener('web')]).slice(0, 1), [
    'Configured Error: No active site in namespace: this namespace has no Site, so no router runs in it; create one.',
  ]);
  const listening = { listeners: { 'Listener/web': { listening: true, reachableKeys: [] } } };
  assert.deepEqual(words([aSite(), aListener('web')], listening).slice(-4), [
    'Configured Ready: OK',
    'Matched Pending: No matching connectors: no connector of routing key "web" can be reached',
    'Ready Pending: No matching connectors: no connector of routing key "web" can be reached',
    'Pending: No matching connectors: no connector of routing key "web" can be reached',
  ]);
  const connected = { connectors: { 'Connector/db': { matched: true } } };
  assert.deepEqual(words([aSite(), aConnector('db')], connected).slice(-4), [
    'Configured Ready: OK',
    'Matched Ready: OK',
    'Ready Ready: OK',
    'Ready: OK',
  ]);
  const both = [aSite(), aListener('a'), aListener('b')];
  const [taken] = observe(both, {}, { wording: 'words' }).get('Listener/b')?.conditions ?? [];
  assert.match(`${taken?.reason} ${taken?.message}`, /^Error Listener a with host 127\.0\.0\.1 and port 8080 already exists in namespace;/);
});

test('a connector reports the pods behind it', () => {
  const { spec, ...connector } = aConnector('db', { selector: 'app=db' });
  const { host: _, ...selecting } = spec;
  const pods = [{ name: 'db-0', labels: { app: 'db' }, ip: '192.0.2.7', running: true, ready: true }];
  const material = { capabilities: new Set(['pods'] as const), pods };
  const status = observe([aSite(), { ...connector, spec: selecting }], {}, { material }).get('Connector/db');
  assert.deepEqual(status, { ...status, selectedPods: [{ name: 'db-0', ip: '192.0.2.7' }] });
});

test('a MultiKeyListener by weight reports the weight of each reachable key', () => {
  const listener = aMultiKeyListener('m', { strategy: { weighted: { routingKeys: { a: 3, b: 0, c: 1 } } } });
  const status = observe([aSite(), listener], {
    listeners: { 'MultiKeyListener/m': { listening: true, reachableKeys: ['b', 'a', 'x'] } },
  }).get('MultiKeyListener/m');
  assert.deepEqual(status, { ...status, hasDestination: true, strategy: { weighted: { routingKeysReachable: { a: 3, b: 0 } } } });
});

test('a MultiKeyListener lists the keys that can be reached in the order of its own', () => {
  const status = observe([aSite(), aMultiKeyListener('m')], {
    listeners: { 'MultiKeyListener/m': { listening: true, reachableKeys: ['b', 'a', 'x'] } },
  }).get('MultiKeyListener/m');
  assert.equal(short(status), 'Ready: OK');
  assert.deepEqual(status, { ...status, hasDestination: true, strategy: { priority: { routingKeysReachable: ['a', 'b'] } } });
});

function record(siteId: string, router: string, given: Partial<RouterRecord> = {}): RouterRecord {
  return {
    router,
    site: { id: siteId, name: `site-${siteId}`, namespace: 'n', platform: 'linux', version: '1' },
    edge: false,
    links: [],
    keys: [],
    ...given,
  };
}

test('routers of one site are one entry of the network, without the links between them', () => {
  const network = [
    record('1', 'a', {
      keys: [{ routingKey: 'k', connectors: 2, listeners: 0 }],
      links: [
        { name: 's', siteId: '1', siteName: 'site-1', cost: 1 },
        { name: 'l', siteId: '2', siteName: 'site-2', cost: 1 },
      ],
    }),
    record('1', 'b', { keys: [{ routingKey: 'k', connectors: 0, listeners: 1 }] }),
    record('2', 'a'),
  ];
  const status: SiteStatus | undefined = observe([aSite()], { network }).get('Site/west');
  assert.equal(status?.sitesInNetwork, 2);
  assert.deepEqual(status?.network?.[0], {
    id: '1',
    name: 'site-1',
    namespace: 'n',
    platform: 'linux',
    version: '1',
    links: [{ name: 'site-2', remoteSiteId: '2', remoteSiteName: 'site-2', operational: true }],
    services: [{ routingKey: 'k', connectors: ['a/1', 'a/2'], listeners: ['b/1'] }],
  });
});

test('a peer that claims to have endless connectors does not fill our status', () => {
  const network = [record('2', 'a', { keys: [{ routingKey: 'k', connectors: 1e9, listeners: 1e9 }] })];
  const status: SiteStatus | undefined = observe([aSite()], { network }).get('Site/west');
  assert.ok((status?.network?.[0]?.services?.[0]?.connectors?.length ?? 0) <= 16);
});

test('this site is shown whole, and another that has more than there is room for is named, and takes no room from others', () => {
  const keys = Array.from({ length: 10_000 }, (_, index) => ({ routingKey: `k${index}`, connectors: 1, listeners: 0 }));
  const network = [record('1', 'a', { keys }), record('2', 'a', { keys }), record('3', 'a', { keys: keys.slice(0, 3) })];
  const status: SiteStatus | undefined = observe([aSite()], { network }).get('Site/west');
  assert.deepEqual(
    status?.network?.map(({ name, services }) => [name, services?.length]),
    [
      ['site-1', 10_000],
      ['site-2', 0],
      ['site-3', 3],
    ],
  );
});

test("a site's endpoints are those that listen, with the real port, by every address of the machine", () => {
  const accesses = { 'Site/west/inter-router': { listening: true, port: 6000 }, 'Site/west/edge': { listening: false } };
  const status: SiteStatus | undefined = observe([aSite({ linkAccess: 'default' })], { accesses }).get('Site/west');
  assert.deepEqual(status?.endpoints, [
    { name: 'inter-router', host: '192.0.2.7', port: '6000', group: 'west' },
    { name: 'inter-router', host: 'box', port: '6000', group: 'west' },
  ]);
});

test('a grant reports its redemptions, and says when there are none left', () => {
  const grant: SiteObject = { apiVersion: 'skupper.io/v2alpha1', kind: 'AccessGrant', metadata: { name: 'g' }, spec: {} };
  const facts = {
    code: 'c',
    url: 'https://x',
    ca: 'CA',
    redemptions: 1,
    redemptionsAllowed: 1,
    expires: Date.UTC(2026, 0, 1),
    expired: false,
  };
  const status = observe([aSite({ linkAccess: 'default' }), grant], {}, { trust: { ...noTrust, grants: new Map([['g', facts]]) } }).get(
    'AccessGrant/g',
  );
  assert.equal(short(status), 'Ready: OK; all its redemptions are used up');
  assert.deepEqual(status, { ...status, url: 'https://x', code: 'c', ca: 'CA', redemptions: 1, expirationTime: '2026-01-01T00:00:00Z' });
  const { url: _url, ca: _ca, ...closed } = facts;
  const trust = { ...noTrust, grants: new Map([['g', closed]]) };
  const later = observe([aSite({ linkAccess: 'default' }), grant], {}, { trust }).get('AccessGrant/g');
  assert.equal(short(later), 'Ready: OK; all its redemptions are used up', 'it needs no server');
});

for (const [code, isWeak] of [
  ['x', true],
  ['x'.repeat(15), true],
  ['x'.repeat(16), false],
  ['', false],
] as const) {
  test(`a grant whose code has ${code.length} characters ${isWeak ? 'says that it can be guessed' : 'says nothing of it'}`, () => {
    const grant: SiteObject = { apiVersion: 'skupper.io/v2alpha1', kind: 'AccessGrant', metadata: { name: 'g' }, spec: { code } };
    const message = observe([aSite(), grant]).get('AccessGrant/g')?.message ?? '';
    assert.equal(message.includes(`its code has ${code.length} characters and can be guessed`), isWeak, message);
  });
}

test('names that every object inherits are no router state', () => {
  const statuses = observe([aSite(), aListener('constructor')], { listeners: {} });
  const status: ListenerStatus | undefined = statuses.get('Listener/constructor');
  assert.equal(status?.status, 'Pending');
});

test('quotations in a status stay short and on one line', () => {
  const status = observe([aSite(), aListener('web', { host: `a\n\u001B[31m${'x'.repeat(5000)}` })]).get('Listener/web');
  assert.ok((status?.message?.length ?? 0) <= 1024);
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  assert.doesNotMatch(status?.message ?? '', /[\u0000-\u001F]/);
});

test("for tools that parse messages, missing Secrets, missing servers and failed links have Skupper's messages", () => {
  const first = (object: SiteObject, type: string, router: Partial<RouterState> = {}) => {
    const material = { capabilities: new Set(['pods'] as const) };
    const status = observe([aSite(), object], router, { wording: 'words', material }).get(`${object.kind}/${object.metadata.name ?? ''}`);
    const condition = status?.conditions?.find((each) => each.type === type);
    return `${condition?.reason}: ${condition?.message}`;
  };
  const missing = /^Error: TLS credentials secret "none" not found: the TLS bundle "none" does not exist; put .+ \(spec.tlsCredentials\)$/;
  for (const object of [aListener('a', { tlsCredentials: 'none' }), aConnector('a', { tlsCredentials: 'none' })]) {
    assert.match(first(object, 'Configured'), missing);
  }
  assert.match(first(aLink('a', { tlsCredentials: 'none' }), 'Configured'), missing);
  const nowhere = { ...aConnector('a'), spec: { routingKey: 'a', port: 80 } };
  assert.match(first(nowhere, 'Configured'), /^Error: Connector must define a non-empty spec.host or spec.selector: /);
  const nobody = { ...aConnector('a'), spec: { routingKey: 'a', port: 80, selector: 'app=a' } };
  assert.match(first(nobody, 'Configured'), /^Error: No matches for selector: /);
  const refused = { links: { 'Link/a': { operational: false, problem: { code: 'refused', message: 'nothing listens there' } } } } as const;
  assert.equal(first(aLink('a'), 'Operational', refused), 'Pending: Not operational: nothing listens there');
});

for (const object of [
  aListener('a', { tlsCredentials: 'late' }),
  aMultiKeyListener('a', { tlsCredentials: 'late' }),
  aConnector('a', { tlsCredentials: 'late' }),
  aConnector('a', { tlsCredentials: 'late', useClientCert: true }),
  aLink('a', { tlsCredentials: 'late' }),
  aLink('a', { settings: { 'proxy-configuration': 'late' } }),
]) {
  test(`a ${object.kind} whose Secret may only be late is Pending: ${JSON.stringify(object.spec)}`, () => {
    const statusWith = (material: Partial<Material>) =>
      observe([aSite(), object], {}, { wording: 'words', material }).get(`${object.kind}/a`);
    const late = statusWith({ awaitedSecrets: new Set(['late']) });
    assert.equal(late?.status, 'Pending');
    assert.match(late?.message ?? '', /waiting until the router can read the Secret "late"/);
    assert.deepEqual(
      late?.conditions?.filter(({ reason }) => reason === 'Error'),
      [],
    );
    assert.equal(statusWith({ awaitedSecrets: new Set(['other']) })?.status, 'Error');
  });
}

test('a link that only one router of its site has is ready, and says which has not', () => {
  const siblingLinks = { two: { 'Link/a': { operational: false, problem: 'It does not answer.' } } };
  const router = { links: { 'Link/a': { operational: true } }, siblingLinks };
  const status = observe([aSite(), aLink('a')], router, { wording: 'words', serving: ['two'] }).get('Link/a');
  const said = 'OK; the router two does not have this link: It does not answer';
  assert.equal(short(status), `Ready: ${said}`);
  assert.deepEqual(
    status?.conditions?.map(({ type, status: holds, reason, message }) => [type, holds, reason, message]),
    [
      ['Configured', 'True', 'Ready', 'OK'],
      ['Operational', 'True', 'Ready', said],
      ['Ready', 'True', 'Ready', 'OK'],
    ],
  );
});

test('a token that was redeemed stays so, also when its Site is gone and there is another', () => {
  const token: SiteObject = {
    apiVersion: 'skupper.io/v2alpha1',
    kind: 'AccessToken',
    metadata: { name: 'west' },
    spec: { url: 'https://west/v1/redeem/g', code: 'c', ca: 'pem' },
    status: { redeemed: true },
  };
  const link: SiteObject = { ...aLink('west'), spec: { ...aLink('west').spec, tlsCredentials: 'west' } };
  const announced = (...objects: readonly SiteObject[]): readonly unknown[] => {
    const status = observe(objects, {}, { wording: 'words' }).get('AccessToken/west');
    return [status !== undefined && 'redeemed' in status && status.redeemed, status?.status, status?.message?.slice(0, 44)];
  };
  const deleted = [true, 'Error', 'Already redeemed for a deleted site, or its '];
  assert.equal(announced(token)[0], true);
  assert.deepEqual(announced(aSite(), token), deleted);
  assert.deepEqual(announced(aSite(), token, link), [true, 'Ready', 'OK']);
});

for (const [bindHost, expected] of [
  ['192.0.2.7', 'Pending: its port is being opened'],
  ['slow.example', 'Pending: its port is being opened; the name "slow.example" must be resolved first'],
] as const) {
  test(`an access at ${bindHost} that does not listen yet is not ready`, () => {
    const access = aRouterAccess('more', { roles: [{ name: 'edge', port: 7000 }], bindHost, tlsCredentials: 'whole' });
    const statuses = observe([aSite(), access], { accesses: { 'RouterAccess/more/edge': { listening: false } } });
    assert.equal(short(statuses.get('RouterAccess/more')), expected);
  });
}
