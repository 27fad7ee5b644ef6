import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../support/any-text.ts';
import type { Connector } from '../../../src/api/skupper/index.ts';
import type { Capability } from '../../../src/site/capabilities.ts';
import { acceptsLinks } from '../../../src/site/plan/access.ts';
import { noTrust } from '../../../src/site/observe/trust-facts.ts';
import { observeSite } from '../../../src/site/observe/observe.ts';
import { planCertificates } from '../../../src/site/plan/certificates.ts';
import { planSite, type SitePlan } from '../../../src/site/plan/plan.ts';
import { problemText } from '../../../src/site/problem.ts';
import type { SelectablePod } from '../../../src/site/material.ts';
import type { SiteObject } from '../../../src/site/resources.ts';
import { aConnector, aLink, aListener, aMaterial, aMultiKeyListener, aRouterAccess, aSite, resources, whole } from './fixtures.ts';

function plan(...objects: readonly SiteObject[]): SitePlan {
  return planSite(resources(...objects), aMaterial());
}

function problem(of: SitePlan): string {
  assert.equal(of.problems.length, 1, of.problems.map(problemText).join('\n'));
  const [only] = of.problems;
  assert.ok(only);
  return `${only.severity} ${only.resource} ${only.code} ${only.field}`;
}

test("a bundle of a token's Link that is missing or damaged asks for a new token, any other for its files", () => {
  const of = (annotations: Readonly<Record<string, string>> | undefined, changed: Parameters<typeof aMaterial>[0] = {}): string => {
    const link = aLink('east', { tlsCredentials: 'east' });
    const object = annotations === undefined ? link : { ...link, metadata: { ...link.metadata, annotations } };
    const first = planSite(resources(aSite(), object), aMaterial(changed)).problems.find(({ resource }) => resource === 'Link/east');
    assert.ok(first);
    return problemText(first);
  };
  const token = { 'earshot/site-id': '11111111-1111-8111-8111-111111111111' };
  const bundles = new Map([['east', { ...whole, name: 'east' }]]);
  const damaged = { bundles, check: () => [{ code: 'tls-mangled', message: 'it is damaged', passing: false }] } as const;
  const unreadable = { unreadable: new Map([['east', 'it cannot be read.']]) };
  for (const changed of [{}, damaged, unreadable]) {
    assert.match(of(token, changed), /; a token created it: delete this Link and redeem a new token\.$/);
    assert.doesNotMatch(of(undefined, changed), /token/);
  }
  assert.doesNotMatch(of(token), /put tls\.crt/);
  assert.match(of({ note: 'by hand' }), /put tls\.crt, tls\.key and ca\.crt into/);
});

test('an edge site opens no port for links, however it is asked to, and says so', () => {
  const edge = aSite({ edge: true, linkAccess: 'default' });
  const { config, problems } = plan(edge, aRouterAccess('more'));
  assert.deepEqual(config.accesses, []);
  assert.deepEqual(
    problems.map(({ resource, code, severity }) => [resource, code, severity]),
    [
      ['Site/west', 'edge-access', 'error'],
      ['RouterAccess/more', 'edge-access', 'error'],
    ],
  );
  assert.equal(acceptsLinks(resources(aRouterAccess('more')), edge), false);
  assert.deepEqual(plan(aSite({ edge: true, linkAccess: 'none' })).problems, []);
});

test('a site with everything is planned whole', () => {
  const { config, problems } = plan(
    aSite({ linkAccess: 'default', edge: false }),
    aListener('web', { tlsCredentials: 'whole', observer: 'http1' }),
    aConnector('db', { tlsCredentials: 'whole', useClientCert: true, verifyHostname: false }),
    aLink('east', { cost: 5 }),
    aRouterAccess('more', { roles: [{ name: 'edge', port: 7000 }], bindHost: '192.0.2.9' }),
  );
  assert.deepEqual(
    problems.filter(({ resource }) => !resource.startsWith('Site/')),
    [],
  );
  const { ca: _, ...server } = whole;
  assert.deepEqual(config.listeners, [
    {
      name: 'Listener/web',
      host: '127.0.0.1',
      port: 8080,
      destination: { kind: 'key', routingKey: 'web' },
      observer: 'http1',
      tls: server,
    },
  ]);
  assert.deepEqual(config.connectors, [
    { name: 'Connector/db', routingKey: 'db', hosts: ['db.internal'], port: 5432, tls: { bundle: whole, verifyHostname: false } },
  ]);
  assert.deepEqual(config.links, [{ name: 'Link/east', endpoints: [{ host: '192.0.2.1', port: 55671 }], cost: 5, tls: whole }]);
  assert.deepEqual(config.accesses, [{ name: 'RouterAccess/more/edge', host: '192.0.2.9', port: 7000, tls: whole, role: 'edge' }]);
});

test('who may read figures of the routers says the Site, if its word is valid', () => {
  const planned = (observe: string) => planSite(resources(aSite({ settings: { observe } })), aMaterial());
  for (const word of ['site', 'network', 'none'] as const) assert.equal(planned(word).config.observe, word);
  assert.equal(planned('everyone').config.observe, undefined);
  assert.equal(problem(planned('everyone')), 'warning Site/west setting spec.settings.observe');
});

test('how many earlier certificates may be in use says the Site, and a bundle for itself', () => {
  const site = (text: string) => aSite({ settings: { 'tls-prior-valid-revisions': text } });
  const own = { ...whole, name: 'own', priorRevisions: 0 };
  const material = aMaterial({
    bundles: new Map([
      ['whole', whole],
      ['own', own],
    ]),
  });
  const planned = (text: string) =>
    planSite(resources(site(text), aLink('east'), aLink('south', { tlsCredentials: 'own' }), aRouterAccess('more')), material);
  const priors = ({ config }: SitePlan) => [...config.links, ...config.accesses].map(({ priorRevisions }) => priorRevisions);
  assert.deepEqual(priors(planned('2')), [2, 0, 2]);
  assert.deepEqual(planned('2').problems, []);
  for (const text of ['', '-1', '1.5', 'two', '9'.repeat(30)]) {
    const outcome = planned(text);
    assert.deepEqual(priors(outcome), [undefined, 0, undefined]);
    assert.equal(problem(outcome), 'warning Site/west setting spec.settings.tls-prior-valid-revisions');
  }
});

test("linkAccess opens both ports as soon as its certificate is there, to peers of the site's own authority too", () => {
  const server = { ...whole, name: 'earshot-site-server' };
  const material = aMaterial({ bundles: new Map([[server.name, server]]), siteAuthority: 'SITE-CA' });
  const { config, problems } = planSite(resources(aSite({ linkAccess: 'default' })), material);
  assert.deepEqual(problems, []);
  assert.deepEqual(
    config.accesses.map(({ name, port, tls, host }) => [name, port, tls.ca, host]),
    [
      ['Site/west/inter-router', 55671, 'CA\nSITE-CA', undefined],
      ['Site/west/edge', 45671, 'CA\nSITE-CA', undefined],
    ],
  );
});

const aGrant: SiteObject = { apiVersion: 'skupper.io/v2alpha1', kind: 'AccessGrant', metadata: { name: 'g' }, spec: {} };
const onlyNormal = aRouterAccess('a', { roles: [{ name: 'normal' }] });

for (const [name, spec, access, isOpen] of [
  ['nothing of it', {}, [], false],
  ['linkAccess: none', { linkAccess: 'none' }, [], false],
  ['an empty linkAccess', { linkAccess: '' }, [], false],
  ['only a RouterAccess for local clients', {}, [onlyNormal], false],
  ['linkAccess: default', { linkAccess: 'default' }, [], true],
  ['a RouterAccess', {}, [aRouterAccess('a')], true],
  ['both', { linkAccess: 'route' }, [onlyNormal], true],
] as const) {
  test(`a site with ${name} lets other sites ${isOpen ? 'in' : 'not in, and its grants say so'}`, () => {
    const site = aSite(spec);
    const { problems } = plan(site, aGrant, ...access);
    assert.equal(acceptsLinks(resources(...access), site), isOpen);
    assert.deepEqual(
      problems.filter(({ code }) => code === 'no-access').map(({ resource }) => resource),
      isOpen ? [] : ['AccessGrant/g'],
    );
  });
}

test('an edge site uses the endpoints for edge sites', () => {
  const { config } = plan(aSite({ edge: true }), aLink('east'));
  assert.equal(config.edge, true);
  assert.deepEqual(config.links[0]?.endpoints, [{ host: '192.0.2.1', port: 45671 }]);
});

for (const [name, hosts, own, listens, left] of [
  ['its own name', ['192.0.2.1', 'vm'], ['192.0.2.2', 'vm'], false, ['192.0.2.1']],
  ['its own name in capitals', ['192.0.2.1', 'VM'], ['vm'], false, ['192.0.2.1']],
  ['an address that it listens at', ['172.17.0.1', '192.0.2.1'], ['172.17.0.1'], true, ['192.0.2.1']],
  ['an address at which another site of its machine is', ['192.0.2.1'], ['192.0.2.1'], false, ['192.0.2.1']],
  [
    'an address that it shares with another site, at other ports',
    ['192.0.2.1', '192.0.2.9'],
    ['192.0.2.1'],
    false,
    ['192.0.2.1', '192.0.2.9'],
  ],
  ['nothing but its own name', ['vm'], ['vm'], true, ['vm']],
  ["another network's name", ['vm.example.com', 'vm'], ['vm.example.com'], false, ['vm.example.com', 'vm']],
] as const) {
  test(`for a link to ${name} the site dials ${left.join(', ')}`, () => {
    const link = aLink('east', { endpoints: hosts.map((host) => ({ name: 'inter-router', host, port: '55671' })) });
    const site = aSite(listens ? { linkAccess: 'default' } : {});
    const material = aMaterial({
      ownHosts: own,
      bundles: new Map([
        ['whole', whole],
        ['earshot-site-server', whole],
      ]),
    });
    const { config } = planSite(resources(site, link), material);
    assert.deepEqual(
      config.links[0]?.endpoints.map(({ host }) => host),
      left,
    );
  });
}

test('a connector without a client certificate is given none, only what to verify the server by', () => {
  const { config } = plan(aSite(), aConnector('db', { tlsCredentials: 'whole' }));
  assert.deepEqual(config.connectors[0]?.tls, { bundle: { name: 'whole', ca: 'CA' }, verifyHostname: true });
});

for (const usual of [true, false]) {
  test(`a connector without verifyHostname has the default of its platform: ${usual}`, () => {
    const material = aMaterial({ defaults: { verifyHostname: usual } });
    const planned = [undefined, true, false].map((value) => {
      const connector = aConnector('db', { tlsCredentials: 'whole', ...(value === undefined ? {} : { verifyHostname: value }) });
      return planSite(resources(aSite(), connector), material).config.connectors[0]?.tls?.verifyHostname;
    });
    assert.deepEqual(planned, [usual, true, false]);
  });
}

test('a listener verifies clients by its ca.crt only if requireClientCert is true', () => {
  const verifies = [undefined, true, false].map((value) => {
    const listener = aListener('web', { tlsCredentials: 'whole', ...(value === undefined ? {} : { requireClientCert: value }) });
    return plan(aSite(), listener).config.listeners[0]?.tls?.ca !== undefined;
  });
  assert.deepEqual(verifies, [false, true, false]);
});

function aPod(name: string, given: Partial<SelectablePod> = {}): SelectablePod {
  return { name, labels: { app: 'db' }, ip: `192.0.2.${name.length}`, running: true, ready: true, ...given };
}

function planPods(spec: Partial<Connector['spec']>, ...pods: readonly SelectablePod[]): SitePlan {
  const connector = aConnector('db', { selector: 'app=db', ...spec });
  const { host: _, ...withoutHost } = connector.spec;
  const material = aMaterial({ capabilities: new Set(['pods']), pods });
  return planSite(resources(aSite(), { ...connector, spec: withoutHost }), material);
}

test('the servers of a connector are the pods that its selector matches and that can take connections', () => {
  const others = [
    aPod('labelled', { labels: { app: 'web' } }),
    aPod('ended', { running: false }),
    aPod('unplaced', { ip: undefined } as never),
  ];
  const pods = [aPod('bb'), aPod('a'), aPod('new', { ready: false }), ...others];
  const outcome = planPods({}, ...pods);
  assert.deepEqual(outcome.config.connectors, [{ name: 'Connector/db', routingKey: 'db', hosts: ['192.0.2.1', '192.0.2.2'], port: 5432 }]);
  const selectedPods = [
    { name: 'a', ip: '192.0.2.1' },
    { name: 'bb', ip: '192.0.2.2' },
  ];
  assert.deepEqual(outcome.selectedPods, new Map([['Connector/db', selectedPods]]));
  assert.deepEqual(planPods({ includeNotReadyPods: true }, ...pods).config.connectors[0]?.hosts, ['192.0.2.1', '192.0.2.2', '192.0.2.3']);
});

test('pods on the network of one node are one server', () => {
  const outcome = planPods({}, aPod('a', { ip: '192.0.2.9' }), aPod('b', { ip: '192.0.2.9' }));
  assert.deepEqual(outcome.config.connectors[0]?.hosts, ['192.0.2.9']);
});

test('a connector whose selector is invalid or matches nothing reports it and runs nothing', () => {
  const empty = planPods({}, aPod('a', { ready: false }));
  assert.equal(problem(empty), 'error Connector/db no-pods spec.selector');
  assert.match(empty.problems[0]?.message ?? '', /^No matches for selector/);
  assert.deepEqual([empty.config.connectors, empty.selectedPods.get('Connector/db')], [[], []]);
  assert.equal(problem(planPods({ selector: 'app in db' }, aPod('a'))), 'error Connector/db selector spec.selector');
});

for (const [selector, labels, hint] of [
  ['app=dd-primray', { app: 'dd-primary' }, '; did you mean "app=dd-primary"?'],
  ['app=Primary', { app: 'primary' }, '; did you mean "app=primary"?'],
  ['aap=primary', { app: 'primary' }, '; did you mean "app=primary"?'],
  ['app=db,tier=frotn', { app: 'db', tier: 'front' }, '; did you mean "tier=front"?'],
  ['tier=frotn,app=db', { app: 'other', tier: 'front' }, '.'],
  ['app.kubernetes.io/name=web', { 'app.kubernetes.io/name': 'api' }, '.'],
  ['app=primary', { app: 'primary' }, '.'],
  ['app in (primray)', { app: 'primary' }, '.'],
] as const) {
  test(`a selector ${selector} that matches none of ${JSON.stringify(labels)} names a label of pods if it is nearly equal`, () => {
    const [found] = planPods({ selector }, aPod('a', { labels, ready: false })).problems;
    assert.equal(found?.message, `No matches for selector: no pod that is running and ready has "${selector}"${hint}`);
  });
}

test('pods exposed by name have a key each, beside that of all', () => {
  const outcome = planPods({ exposePodsByName: true }, aPod('db-0'), aPod('db-10'));
  assert.deepEqual(
    outcome.config.connectors.map(({ name, routingKey, hosts }) => [name, routingKey, hosts]),
    [
      ['Connector/db', 'db', ['192.0.2.4', '192.0.2.5']],
      ['Connector/db/db-0', 'db.db-0', ['192.0.2.4']],
      ['Connector/db/db-10', 'db.db-10', ['192.0.2.5']],
    ],
  );
  const long = planPods({ exposePodsByName: true, routingKey: 'k'.repeat(250) }, aPod('a'), aPod('long'));
  assert.equal(problem(long), 'warning Connector/db routing-key spec.exposePodsByName');
  assert.equal(long.config.connectors.length, 2, 'all together, and the one whose key is a key');
});

test('a link is of the group that all its endpoints are of', () => {
  const grouped = (...groups: readonly (string | undefined)[]): string | undefined => {
    const endpoints = groups.map((group) => ({ host: '192.0.2.1', port: '55671', ...(group === undefined ? {} : { group }) }));
    return plan(aSite(), aLink('east', { endpoints })).config.links[0]?.group;
  };
  assert.deepEqual([grouped('a', 'a'), grouped('a', 'b'), grouped('a', undefined), grouped('')], ['a', undefined, undefined, undefined]);
});

test('a link that is written to cost nothing costs 1', () => {
  assert.equal(plan(aSite(), aLink('east', { cost: 0 })).config.links[0]?.cost, 1);
});

test('a Link that names the Secret of a proxy goes through it', () => {
  const proxy = { host: 'proxy.example', port: 3128, username: 'me', password: 'secret' };
  const link = aLink('east', { settings: { 'proxy-configuration': 'proxy' } });
  const { config } = planSite(resources(aSite(), link), aMaterial({ proxies: new Map([['proxy', proxy]]) }));
  assert.deepEqual(config.links[0]?.proxy, proxy);
});

test('the Site that runs keeps its namespace from one whose name comes first', () => {
  const before = plan(aSite({}, 'west'));
  const outcome = planSite(resources(aSite({}, 'alpha'), aSite({}, 'west')), aMaterial(), before);
  assert.equal(outcome.site?.metadata.name, 'west');
  assert.equal(problem(outcome), 'error Site/alpha second-site undefined');
  const after = planSite(resources(aSite({}, 'alpha')), aMaterial(), outcome);
  assert.equal(after.site?.metadata.name, 'alpha', 'once the other is gone it takes its place');
});

test('a subject too long for a certificate, such as all hosts of a site, is cut', () => {
  const subject = Array.from({ length: 9 }, (_, at) => `router-${at}.example.com`).join(',');
  const spec = { ca: '', subject, client: true };
  const certificate = { apiVersion: 'skupper.io/v2alpha1', kind: 'Certificate', metadata: { name: 'link-west' }, spec } as const;
  const [wanted] = planCertificates(resources(aSite(), certificate), aSite(), { kind: 'direct', hosts: [] });
  assert.equal(wanted?.order.subject, subject.slice(0, 64));
});

test('a MultiKeyListener asks for client certificates only if configured', () => {
  const open = plan(aSite(), aMultiKeyListener('m', { tlsCredentials: 'whole' })).config.listeners[0]?.tls;
  assert.deepEqual(open, { name: 'whole', cert: 'CERT', key: 'KEY' });
  const closed = plan(aSite(), aMultiKeyListener('m', { tlsCredentials: 'whole', requireClientCert: true })).config.listeners[0]?.tls;
  assert.deepEqual(closed, whole);
});

for (const [name, objects, expected] of [
  ['a bundle that is not there', [aListener('web', { tlsCredentials: 'none' })], 'error Listener/web tls-missing spec.tlsCredentials'],
  ['a selector', [aConnector('db', { host: undefined, selector: 'app=db' } as never)], 'error Connector/db not-on-platform spec.selector'],
  ['a type that is not tcp', [aListener('web', { type: 'udp' })], 'error Listener/web type spec.type'],
  ['a routing key with a space', [aListener('web', { routingKey: 'a b' })], 'error Listener/web routing-key spec.routingKey'],
  ['a reserved key', [aListener('web', { routingKey: 'earshot:x' })], 'error Listener/web routing-key-reserved spec.routingKey'],
  ['a connector of one', [aConnector('db', { routingKey: 'earshot:' })], 'error Connector/db routing-key-reserved spec.routingKey'],
  [
    'a reserved key among others',
    [aMultiKeyListener('m', { strategy: { priority: { routingKeys: ['a', 'earshot:b'] } } })],
    'error MultiKeyListener/m routing-key-reserved spec.strategy.priority.routingKeys',
  ],
  [
    'a reserved key with a weight',
    [aMultiKeyListener('m', { strategy: { weighted: { routingKeys: { a: 1, 'earshot:b': 1 } } } })],
    'error MultiKeyListener/m routing-key-reserved spec.strategy.weighted.routingKeys',
  ],
  ['an invalid host', [aListener('web', { host: 'a/b' })], 'error Listener/web host spec.host'],
  [
    'no usable endpoint',
    [aLink('east', { endpoints: [{ name: 'edge', host: 'a', port: '1' }] })],
    'error Link/east no-endpoint spec.endpoints',
  ],
  ['no credentials', [aLink('east', { tlsCredentials: '' })], 'error Link/east tls-missing spec.tlsCredentials'],
  [
    'no Secret of its proxy',
    [aLink('east', { settings: { 'proxy-configuration': 'gone' } })],
    'error Link/east proxy-missing spec.settings.proxy-configuration',
  ],
  ['a client certificate over nothing', [aConnector('db', { useClientCert: true })], 'error Connector/db tls-missing spec.useClientCert'],
  [
    'two strategies',
    [aMultiKeyListener('m', { strategy: { priority: { routingKeys: ['a'] }, weighted: { routingKeys: { a: 1 } } } })],
    'error MultiKeyListener/m strategy spec.strategy',
  ],
  [
    'no weights',
    [aMultiKeyListener('m', { strategy: { weighted: { routingKeys: {} } } })],
    'error MultiKeyListener/m strategy spec.strategy.weighted.routingKeys',
  ],
  [
    'client certificates without TLS',
    [aMultiKeyListener('m', { requireClientCert: true })],
    'error MultiKeyListener/m tls-missing spec.requireClientCert',
  ],
  [
    'client certificates without TLS, of a Listener',
    [aListener('web', { requireClientCert: true })],
    'error Listener/web tls-missing spec.requireClientCert',
  ],
  ['a RouterAccess without a role', [aRouterAccess('a', { roles: [] })], 'error RouterAccess/a no-role spec.roles'],
  [
    'a role for local programs',
    [aRouterAccess('a', { roles: [{ name: 'normal', port: 5671 }] })],
    'warning RouterAccess/a role spec.roles[0].name',
  ],
  ['a second site', [aSite({}, 'zulu')], 'error Site/zulu second-site undefined'],
] as const) {
  test(`${name} is reported, and everything else keeps running`, () => {
    const outcome = plan(aSite(), aListener('other', { port: 9999 }), ...objects);
    assert.equal(problem(outcome), expected);
    assert.deepEqual(
      outcome.config.listeners.map((listener) => listener.name),
      ['Listener/other'],
    );
    assert.deepEqual([outcome.config.connectors, outcome.config.links, outcome.config.accesses], [[], [], []]);
  });
}

for (const [name, object, capability, expected] of [
  ['the service account of a site', aSite({ serviceAccount: 'router' }), 'service-accounts', ['warning spec.serviceAccount']],
  ['an empty service account', aSite({ serviceAccount: '' }), 'service-accounts', []],
  ['pods of a listener by name', aListener('web', { exposePodsByName: true }), 'pods', ['warning spec.exposePodsByName']],
  [
    'pods of a connector',
    aConnector('db', { selector: 'app=db', exposePodsByName: true, includeNotReadyPods: true }),
    'pods',
    ['warning spec.selector', 'warning spec.exposePodsByName', 'warning spec.includeNotReadyPods'],
  ],
] as const) {
  test(`${name}: reported if the platform does not support it, so that no user relies on it`, () => {
    const all = object.kind === 'Site' ? resources(object) : resources(aSite(), object);
    const without = planSite(all, aMaterial());
    assert.deepEqual(
      without.problems.map(({ severity, code, field }) => (code === 'not-on-platform' ? `${severity} ${field}` : code)),
      expected,
    );
    const capable = planSite(all, aMaterial({ capabilities: new Set([capability]) }));
    assert.deepEqual(capable.problems, []);
    assert.deepEqual(capable.config, without.config, 'it runs all the same');
  });
}

const apiVersion = 'skupper.io/v2alpha1';
const metadata = { name: 'x' };
for (const [object, capability] of [
  [
    { apiVersion, kind: 'AttachedConnector', metadata, spec: { siteNamespace: 'west', port: 80, selector: 'app=db' } },
    'attached-connectors',
  ],
  [{ apiVersion, kind: 'AttachedConnectorBinding', metadata, spec: { connectorNamespace: 'n', routingKey: 'k' } }, 'attached-connectors'],
  [{ apiVersion, kind: 'SecuredAccess', metadata, spec: { ports: [], selector: {} } }, 'secured-access'],
] as const) {
  test(`${object.kind} is an error on a platform that does not have it, with a status that says so`, () => {
    const all = resources(aSite(), object);
    const outcome = planSite(all, aMaterial());
    assert.equal(problem(outcome), `error ${object.kind}/x not-on-platform kind`);
    const observation = {
      resources: all,
      plan: outcome,
      problems: [],
      trust: noTrust,
      reach: { kind: 'direct', hosts: [] },
      controller: { name: 'earshot', namespace: 'west', version: '1' },
      wording: 'codes',
    } as const;
    const status = observeSite(observation, new Map(), '2026-01-01T00:00:00Z').get(`${object.kind}/x`);
    assert.equal(`${status?.status}: ${status?.message}`, `Error: kind: a ${object.kind} works on Kubernetes only; remove it.`);
    assert.deepEqual(planSite(all, aMaterial({ capabilities: new Set([capability]) })).problems, []);
  });
}

test('a connector is planned or has an error, whatever its platform can do', () => {
  const some = fc.constantFrom('', 'a', 'a b');
  const capabilities = fc.subarray<Capability>(['pods', 'service-accounts']);
  fc.assert(
    fc.property(some, some, capabilities, (host, selector, able) => {
      const all = resources(aSite(), aConnector('db', { host, selector }));
      const { config, problems } = planSite(all, aMaterial({ capabilities: new Set(able) }));
      assert.equal(config.connectors.length, problems.some(({ severity }) => severity === 'error') ? 0 : 1);
    }),
  );
});

test('paths of requests are recorded only for listeners that say so', () => {
  const paths = (settings: Readonly<Record<string, string>>): unknown =>
    plan(aSite(), aListener('web', { settings })).config.listeners.map(({ requestPaths }) => requestPaths);
  assert.deepEqual(
    [paths({}), paths({ 'request-paths': 'false' }), paths({ 'request-paths': 'true' })],
    [[undefined], [undefined], [true]],
  );
  assert.equal(
    problem(plan(aSite(), aListener('web', { settings: { 'request-paths': 'yes' } }))),
    'warning Listener/web setting spec.settings.request-paths',
  );
});

test('an observer that does not exist is reported, and the listener runs', () => {
  const outcome = plan(aSite(), aListener('web', { settings: { observer: 'smtp' } }));
  assert.equal(problem(outcome), 'warning Listener/web setting spec.settings.observer');
  assert.equal(outcome.config.listeners.length, 1);
});

test('an expired certificate is reported but used: the clock may be wrong, and clients decide', () => {
  const expired = aMaterial({ check: () => [{ code: 'tls-expired', message: 'it ended', passing: true }] });
  const { config, problems } = planSite(resources(aSite(), aListener('web', { tlsCredentials: 'whole' })), expired);
  assert.deepEqual(
    problems.map(({ severity, code }) => [severity, code]),
    [['warning', 'tls-expired']],
  );
  assert.equal(config.listeners.length, 1);
});

test('the first by name of two listeners with one host and port runs, and the other names it', () => {
  const outcome = plan(aSite(), aListener('beta'), aListener('alpha'));
  assert.equal(problem(outcome), 'error Listener/beta port-taken-twice spec.port');
  assert.match(outcome.problems[0]?.message ?? '', /^Listener alpha /);
});

for (const [name, held, expected] of [
  ['had the port', [{ listener: 'Listener/beta', host: '127.0.0.1', port: 8080 }], 'Listener/beta'],
  ['had another port', [{ listener: 'Listener/beta', host: '127.0.0.1', port: 8081 }], 'Listener/alpha'],
  ['is gone', [{ listener: 'Listener/gone', host: '127.0.0.1', port: 8080 }], 'Listener/alpha'],
] as const) {
  test(`if two listeners request one port, and one that ${name} was planned before, ${expected} has it`, () => {
    // As it comes back from where a platform keeps it.
    const heldPorts: SitePlan['heldPorts'] = JSON.parse(JSON.stringify(held));
    const after = planSite(resources(aSite(), aListener('alpha'), aListener('beta')), aMaterial(), { heldPorts });
    assert.deepEqual(
      after.config.listeners.map((listener) => listener.name),
      [expected],
    );
    assert.deepEqual(after.heldPorts, [{ listener: expected, host: '127.0.0.1', port: 8080 }]);
  });
}

test('without a Site nothing runs, and everything says so', () => {
  const outcome = plan(aListener('web'), aConnector('db'));
  assert.deepEqual(outcome.config, { edge: false, listeners: [], connectors: [], links: [], accesses: [] });
  assert.deepEqual(
    outcome.problems.map(({ resource, code }) => `${resource} ${code}`),
    ['Listener/web no-site', 'Connector/db no-site'],
  );
});

test('an invalid Site is reported by everything as invalid, not as missing', () => {
  const { problems } = planSite(
    resources(aListener('web')),
    aMaterial(),
    undefined,
    'its Site west cannot be used: site.yaml:1:1: spec.edge: must be true or false.',
  );
  assert.deepEqual(
    problems.map(({ message }) => message),
    ['no site runs in this namespace: its Site west cannot be used: site.yaml:1:1: spec.edge: must be true or false.'],
  );
});

test('the plan does not depend on the order in which resources are read', () => {
  const all: readonly SiteObject[] = [
    aSite(),
    aSite({}, 'x'),
    aListener('a'),
    aListener('b'),
    aListener('c', { port: 1 }),
    aConnector('d'),
    aLink('e'),
    aRouterAccess('f'),
  ];
  fc.assert(
    fc.property(fc.shuffledSubarray([...all], { minLength: all.length }), (shuffled) => {
      assert.deepEqual(planSite(resources(...shuffled), aMaterial()), planSite(resources(...all), aMaterial()));
    }),
    { numRuns: 25 },
  );
});

test('no text in any field makes the plan throw', () => {
  const text = anyText({ maxLength: 300 });
  fc.assert(
    fc.property(text, text, text, (a, b, c) => {
      plan(
        aSite({ linkAccess: a, settings: { [b]: c } }),
        aListener('l', { routingKey: a, host: b, tlsCredentials: c, settings: { observer: a } }),
        aConnector('c', { routingKey: a, host: b, tlsCredentials: c }),
        aLink('k', { endpoints: [{ name: a, host: b, port: c }], tlsCredentials: a }),
        aMultiKeyListener('m', { host: a, strategy: { weighted: { routingKeys: { [b]: 1 } } } }),
        aRouterAccess('r', { roles: [{ name: a }], bindHost: b, subjectAlternativeNames: [c] }),
      );
    }),
    { numRuns: 25 },
  );
});
