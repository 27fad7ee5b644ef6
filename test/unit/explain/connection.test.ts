import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { SkupperKind, SkupperResource } from '../../../src/api/skupper/index.ts';
import { catalogue, modules } from '../../../src/errors/catalogue.ts';
import { conditionReason, type ConditionCode } from '../../../src/errors/condition-reason.ts';
import { isConditionCode } from '../../../src/errors/problem.ts';
import { checkSite } from '../../../src/explain/connection/check-site.ts';
import { linesOf } from '../../../src/explain/report.ts';
import { explainConnection, explainKey, rungsOf, titleOf } from '../../../src/explain/connection/explain-connection.ts';
import { FAILURE_CODES } from '../../../src/router/local/failure.ts';
import type { BundleFacts, SiteFacts, SiteOfNetwork } from '../../../src/explain/connection/site-facts.ts';

const NOW = Date.parse('2030-01-01T00:00:00Z');
const DAY = 24 * 60 * 60 * 1000;

const SPECS: Readonly<Record<SkupperKind, object>> = {
  Site: {},
  Listener: { routingKey: 'web', host: '127.0.0.1', port: 8080 },
  MultiKeyListener: { host: '127.0.0.1', port: 8080, strategy: { priority: { routingKeys: ['web', 'spare'] } } },
  Connector: { routingKey: 'web', host: '127.0.0.1', port: 80 },
  Link: { endpoints: [{ name: 'inter-router', host: 'east', port: '55671' }], tlsCredentials: 'to-east' },
  RouterAccess: { roles: [{ name: 'inter-router' }], tlsCredentials: 'access' },
  AccessGrant: { redemptionsAllowed: 2 },
  AccessToken: { url: 'https://east:9090/x', code: 'c', ca: 'ca' },
  Certificate: { ca: '', subject: 'x' },
  AttachedConnector: { siteNamespace: 'west', port: 80 },
  AttachedConnectorBinding: { connectorNamespace: 'east', routingKey: 'web' },
  SecuredAccess: { ports: [] },
};

function object(kind: SkupperKind, name: string, reason?: ConditionCode, spec: object = {}): SkupperResource {
  const condition = (type: string) => ({
    type,
    status: reason === undefined ? 'True' : 'False',
    reason: reason === undefined ? type : conditionReason(reason),
    message: reason === undefined ? 'OK' : `because of ${reason}`,
    lastTransitionTime: '2029-12-31T00:00:00Z',
  });
  const status = {
    status: reason === undefined ? 'Ready' : 'Pending',
    conditions: [...(reason === undefined ? [condition('Matched')] : []), condition('Ready')],
  };
  // The specs above have the required fields of each kind.
  return {
    apiVersion: 'skupper.io/v2alpha1',
    kind,
    metadata: { name },
    spec: { ...SPECS[kind], ...spec },
    status,
  } as unknown as SkupperResource;
}

const site = (name: string, more: Partial<SiteOfNetwork> = {}): SiteOfNetwork => ({
  id: `id-${name}`,
  name,
  version: '0.2.0',
  isEdge: false,
  routers: ['router'],
  links: [],
  keys: [],
  ...more,
});

function factsOf(objects: readonly SkupperResource[], more: Partial<SiteFacts> = {}): SiteFacts {
  return {
    place: { namespace: 'west', where: 'here', commandFlags: ' -n west', isMachine: true },
    version: '0.2.0',
    now: NOW,
    stopped: { value: undefined },
    objects: { value: [object('Site', 'west'), ...objects] },
    written: { value: [] },
    problems: { value: [] },
    network: { value: { sites: [site('west')] } },
    links: { value: new Map() },
    incoming: { value: [] },
    bundles: { value: [] },
    ...more,
  };
}

const bundle = (name: string, from: number, until: number): BundleFacts => ({
  name,
  location: `input/certs/${name}/tls.crt`,
  subject: 'CN=x',
  issuer: 'CN=ca',
  hosts: [],
  notBefore: from,
  notAfter: until,
  isAuthority: false,
});

suite('the history of a listener', () => {
  const historyOf = (failure: string) => {
    const by = { site: 'east', router: 'router-2' };
    const history = new Map([['web', { value: [{ ended: '2029-12-31T00:00:00Z', failure, by }] }]]);
    const steps = explainConnection(factsOf([object('Listener', 'web')], { history }), 'Listener', 'web')?.steps;
    return steps?.find(({ id }) => id === 'listener.history')?.do ?? '';
  };

  for (const code of FAILURE_CODES)
    test(`advises on ${code} without meaning a router that it does not name`, () => {
      assert.doesNotMatch(historyOf(code), /(?:that|other) router/);
    });

  for (const code of ['peer-refused', 'stream-reset'])
    test(`names the router and the site whose log has the reason of ${code}`, () => {
      assert.equal(historyOf(code), 'At site east, see the log of router router-2: `earshot logs`.');
    });
});

suite('a chain of the connection half', () => {
  test('has a step for each code that the status of a site can have', () => {
    const kinds = Object.keys(SPECS) as readonly SkupperKind[];
    const rungs = kinds.flatMap((kind) => rungsOf(factsOf([]), { kind, name: 'x', found: object(kind, 'x') }));
    const covered = new Set<string>(rungs.flatMap(({ codes }) => codes));
    const { exposure: _exposure, volumes: _volumes, kube: _kube, router: _router, cli: _cli, ...own } = modules;
    const missing = Object.values(own)
      .flatMap((codes) => Object.keys(codes))
      .filter((code) => isConditionCode(code) && !covered.has(code));
    assert.deepEqual(missing, []);
  });

  const used = site('west', { keys: [{ key: 'web', listeners: 1, connectors: 1 }] });
  const causes: readonly (readonly [kind: SkupperKind, code: ConditionCode, step: string, state: string])[] = [
    ['Listener', 'port-in-use', 'listener.port', 'fail'],
    ['Listener', 'host-not-local', 'listener.host', 'fail'],
    ['Listener', 'tls-key-mismatch', 'listener.tls', 'fail'],
    ['Listener', 'routing-key-reserved', 'listener.spec', 'fail'],
    ['Listener', 'servers-failing', 'listener.server', 'fail'],
    ['Listener', 'opening', 'listener.port', 'wait'],
    ['Connector', 'target-refused', 'connector.server', 'fail'],
    ['Connector', 'target-name-unknown', 'connector.name', 'fail'],
    ['Connector', 'server-untried', 'connector.server', 'wait'],
    ['Link', 'timeout', 'link.tcp', 'fail'],
    ['Link', 'not-earshot', 'link.tls', 'fail'],
    ['Link', 'revoked', 'link.hello', 'fail'],
    ['Link', 'silent', 'link.live', 'fail'],
    ['Link', 'connecting', 'link.tcp', 'wait'],
    ['Site', 'second-site', 'site.active', 'fail'],
    ['Site', 'port-in-use', 'site.ports', 'fail'],
    ['AccessGrant', 'no-access', 'access-grant.access', 'fail'],
    ['AccessToken', 'token-wrong-ca', 'access-token.tls', 'fail'],
    ['AccessToken', 'token-used-up', 'access-token.answer', 'fail'],
    ['RouterAccess', 'port-not-permitted', 'router-access.port', 'fail'],
    ['Certificate', 'authority-missing', 'certificate.issuer', 'fail'],
    ['AttachedConnector', 'not-attached', 'attached-connector.other', 'fail'],
  ];
  for (const [kind, code, id, state] of causes) {
    test(`of a ${kind} has its cause at ${id} if the status says ${code}`, () => {
      const { cause, steps } =
        explainConnection(factsOf([object(kind, 'x', code)], { network: { value: { sites: [used] } } }), kind, 'x') ??
        assert.fail('no such object');
      assert.deepEqual([cause?.id, cause?.state, cause?.code, cause?.says], [id, state, code, `because of ${code}`]);
      const later = steps.slice(steps.findIndex((step) => step.id === id) + 1);
      assert.ok(later.every((step) => step.state === 'skip' || step.state === 'unknown' || state === 'wait'));
    });
  }

  test('has advice of the catalogue, unless nothing is to be done', () => {
    const failing = explainConnection(factsOf([object('Link', 'east', 'not-earshot')]), 'Link', 'east')?.cause;
    assert.equal(failing?.do, catalogue.get('not-earshot')?.[2]);
    assert.equal(explainConnection(factsOf([object('Link', 'east', 'connecting')]), 'Link', 'east')?.cause?.do, undefined);
  });
});

test('a Connector whose selector matches no pod in a cluster fails at its pods, with the advice of the catalogue', () => {
  const message = 'No matches for selector: no pod that is running and ready has "app=wbe"; did you mean "app=web"? (spec.selector)';
  const condition = (type: string) => ({ type, status: 'False', reason: 'Error', message, lastTransitionTime: '2029-12-31T00:00:00Z' });
  const connector = object('Connector', 'web', undefined, { selector: 'app=wbe' });
  const status = { status: 'Error', message, conditions: [condition('Configured'), condition('Ready')] };
  // Conditions of the status have the fields of the API.
  const found = { ...connector, status } as SkupperResource;
  const cause = explainConnection(factsOf([found]), 'Connector', 'web')?.cause;
  assert.deepEqual([cause?.id, cause?.says, cause?.do], ['connector.pods', message, catalogue.get('no-pods')?.[2]]);
});

suite('the chain of a Listener', () => {
  const explain = (more: Partial<SiteFacts>, ...objects: readonly SkupperResource[]) =>
    explainConnection(factsOf([object('Listener', 'web', 'no-connector'), ...objects], more), 'Listener', 'web') ??
    assert.fail('no such object');
  const networkOf = (...sites: readonly SiteOfNetwork[]): Partial<SiteFacts> => ({ network: { value: { sites } } });

  test('of a Link whose machine does not answer has the command for a new address', () => {
    const { cause } = explainConnection(factsOf([object('Link', 'east', 'unreachable')]), 'Link', 'east') ?? {};
    assert.match(cause?.do ?? '', /new address: `earshot -n west link update east --host ADDRESS`$/);
  });

  test('asks whether a key is meant that differs in case, and gives the command', () => {
    const east = site('east', { keys: [{ key: 'Web', listeners: 0, connectors: 1 }] });
    const { cause } = explain(networkOf(site('west'), east));
    assert.deepEqual([cause?.id, cause?.code], ['listener.key', 'no-connector']);
    assert.match(cause?.says ?? '', /"web"; did you mean "Web" \(east\)\?$/);
    assert.match(cause?.do ?? '', /listener update web --routing-key Web/);
  });

  test('has the link that is down as its cause if no reachable site offers the key', () => {
    const problem = { code: 'timeout', message: 'No answer from east:55671.' };
    const { cause } = explain({ links: { value: new Map([['east', { operational: false, problem }]]) } });
    assert.deepEqual([cause?.id, cause?.object, cause?.code], ['listener.path', 'Link/east', 'timeout']);
    assert.match(cause?.says ?? '', /No answer from east/);
  });

  test('has the ended link of another site as its cause if that site is not reachable any more', () => {
    const ended = {
      siteId: 'id-east',
      siteName: 'east',
      address: '1.2.3.4:5',
      operational: false,
      ended: { at: NOW, reason: 'no answer' },
    };
    assert.equal(explain({ incoming: { value: [ended] } }).cause?.object, 'Site/east');
    const other = explain({ incoming: { value: [ended] }, ...networkOf(site('west'), site('east')) });
    assert.deepEqual([other.cause?.id, other.cause?.object], ['listener.key', 'Listener/web']);
  });

  test('has the link of the site that served it as its cause, whichever link ended first', () => {
    const endedLink = (name: string) => ({
      siteId: `id-${name}`,
      siteName: name,
      address: '1.2.3.4:5',
      operational: false,
      ended: { at: NOW, reason: 'no answer' },
    });
    const listener = object('Listener', 'web', 'no-connector');
    const message = 'site "east", which served it, is unreachable since 2030-01-01T00:00:00Z: no answer';
    const conditions = listener.status?.conditions?.map((condition) => ({ ...condition, message })) ?? [];
    const lost = { ...listener, status: { ...listener.status, conditions } } as SkupperResource;
    const facts = factsOf([lost], { incoming: { value: [endedLink('north'), endedLink('east')] } });
    assert.equal(explainConnection(facts, 'Listener', 'web')?.cause?.object, 'Site/east');
  });

  suite('whose path begins with a link that another site opened', () => {
    const sites = [
      site('west', { links: [{ siteId: 'id-east', cost: 65_535 }] }),
      site('east', { keys: [{ key: 'web', listeners: 0, connectors: 1 }] }),
    ];
    const linkFrom = { siteId: 'id-east', siteName: 'east', address: '1.2.3.4:5', operational: true };

    test('has that link as its cause while nothing arrives over it', () => {
      const { cause } = explain({ incoming: { value: [{ ...linkFrom, silentSince: NOW }] }, ...networkOf(...sites) });
      assert.deepEqual([cause?.id, cause?.object, cause?.code], ['listener.hop', 'Site/east', 'silent']);
      assert.match(cause?.says ?? '', /^the link from site east is silent since 2030-01-01T00:00:00Z$/);
    });

    test('warns of a silent link farther along the path', () => {
      const [west, east] = [site('west', { links: [{ siteId: 'id-hub', cost: 1 }] }), sites.at(1) ?? assert.fail('has two sites')];
      const hub = site('hub', { links: [{ siteId: 'id-east', cost: 65_535 }] });
      const facts = factsOf([object('Listener', 'web')], networkOf(west, hub, east));
      const hops = explainConnection(facts, 'Listener', 'web')?.steps.filter(({ id }) => id === 'listener.hop') ?? [];
      assert.deepEqual(
        hops.map(({ state, object: of, says }) => [state, of, says]),
        [['warn', 'Site/hub', 'the link between hub and east is silent, or its cost is the greatest']],
      );
    });

    test('works while another link to that site answers', () => {
      const incoming = { value: [{ ...linkFrom, silentSince: NOW }, linkFrom] };
      assert.equal(explain({ incoming, ...networkOf(...sites) }).cause, undefined);
      const facts = factsOf([], { incoming, ...networkOf(...sites) });
      assert.equal(explainConnection(facts, 'Site', 'west')?.cause, undefined);
    });
  });

  test('does not blame a link that ended because its site was revoked here, and names the site', () => {
    const reason = 'This site or its certificate has been revoked here.';
    const ended = { siteId: 'id-east', siteName: 'east', address: '1.2.3.4:5', operational: false, ended: { at: NOW, reason } };
    const { cause } = explain({ incoming: { value: [ended] } });
    assert.equal(cause?.id, 'listener.key');
    assert.match(cause?.says ?? '', /; this site revoked east$/);
  });

  test('shows the cheapest path, which never crosses an edge site', () => {
    const east = site('east', { keys: [{ key: 'web', listeners: 0, connectors: 2 }] });
    const sites = [
      site('west', {
        links: [
          { siteId: 'id-edge', cost: 1 },
          { siteId: 'id-hub', cost: 5 },
        ],
      }),
      site('edge', { isEdge: true, links: [{ siteId: 'id-east', cost: 1 }] }),
      site('hub', { links: [{ siteId: 'id-east', cost: 1 }] }),
      east,
    ];
    const facts = factsOf([object('Listener', 'web')], networkOf(...sites));
    const explanation = explainConnection(facts, 'Listener', 'web');
    const path = explanation?.steps.find(({ id }) => id === 'listener.path');
    assert.deepEqual([path?.state, path?.says], ['pass', 'west > hub > east, cost 6']);
  });

  test('only warns of a key without a connector if another key of a MultiKeyListener has one', () => {
    const sites = [site('west', { keys: [{ key: 'spare', listeners: 1, connectors: 1 }] })];
    const facts = factsOf([object('MultiKeyListener', 'web')], networkOf(...sites));
    assert.equal(explainConnection(facts, 'MultiKeyListener', 'web')?.verdict, 'warn');
  });
});

test('the name of a server that was not tried yet is not said to have an address', () => {
  const stepIds = (reason?: ConditionCode): readonly string[] => {
    const facts = factsOf([object('Connector', 'db', reason, { host: 'db.internal' })]);
    return explainConnection(facts, 'Connector', 'db')?.steps.map(({ id }) => id) ?? [];
  };
  assert.ok(stepIds('target-refused').includes('connector.name'));
  assert.ok(!stepIds('server-untried').includes('connector.name'));
});

test('failures among the last connections of a Listener are a warning, with the reason and the last success', () => {
  const past = [
    { ended: '2029-12-31T23:00:00Z' },
    { ended: '2029-12-31T23:10:00Z', failure: 'timeout' },
    { ended: '2029-12-31T23:20:00Z', failure: 'timeout' },
  ];
  const used = site('west', { keys: [{ key: 'web', listeners: 1, connectors: 1 }] });
  const explain = (value: typeof past) =>
    explainConnection(
      factsOf([object('Listener', 'web')], { network: { value: { sites: [used] } }, history: new Map([['web', { value }]]) }),
      'Listener',
      'web',
    );
  const warned = explain(past)?.steps.find(({ id }) => id === 'listener.history');
  assert.equal(warned?.says, 'last success 2029-12-31T23:00:00Z; 2 of the last 3 connections failed');
  assert.equal(explain(past.slice(0, 1))?.verdict, 'pass');
});

suite('the dates of a bundle', () => {
  const explain = (bundles: readonly BundleFacts[], reason?: ConditionCode) =>
    explainConnection(factsOf([object('Link', 'east', reason)], { bundles: { value: bundles } }), 'Link', 'east') ??
    assert.fail('no such object');

  test('are the cause if the bundle has expired, with its file', () => {
    const { cause } = explain([bundle('to-east', NOW - 2 * DAY, NOW - DAY)], 'tls-expired');
    assert.deepEqual([cause?.id, cause?.code], ['link.bundle', 'tls-expired']);
    assert.match(cause?.says ?? '', /^input\/certs\/to-east\/tls\.crt expired at 2029-12-31T00:00:00Z/);
  });

  test('are the cause if the router names the bundle, even if its file cannot be read here', () => {
    const problem = { code: 'tls-expired', message: 'The TLS bundle to-east: tls.crt expired at 2029-12-31T00:00:00Z.' };
    const links = { value: new Map([['east', { operational: false, problem }]]) };
    const facts = factsOf([object('Link', 'east', 'tls-expired')], { links });
    assert.equal(explainConnection(facts, 'Link', 'east')?.cause?.id, 'link.bundle');
    const peer = {
      value: new Map([['east', { operational: false, problem: { ...problem, message: 'The certificate of east expired.' } }]]),
    };
    assert.equal(explainConnection({ ...facts, links: peer }, 'Link', 'east')?.cause?.id, 'link.tls');
  });

  test('are a warning within 14 days of the end, and the cause before the beginning', () => {
    assert.equal(explain([bundle('to-east', NOW - DAY, NOW + 13 * DAY)]).verdict, 'warn');
    assert.equal(explain([bundle('to-east', NOW - DAY, NOW + 15 * DAY)]).verdict, 'pass');
    assert.equal(explain([bundle('to-east', NOW + DAY, NOW + 99 * DAY)]).cause?.code, 'tls-not-yet-valid');
  });
});

suite('the chain of a routing key', () => {
  test('covers both ends, and does not exist without a site that has it or a similar one', () => {
    const east = site('east', { keys: [{ key: 'web', listeners: 1, connectors: 0 }] });
    const facts = factsOf([], { network: { value: { sites: [site('west', { links: [{ siteId: 'id-east', cost: 1 }] }), east] } } });
    assert.deepEqual([explainKey(facts, 'web')?.cause?.code, explainKey(facts, 'other')], ['no-connector', undefined]);
  });
});

test('a resource whose file cannot be read has the file, the line and the field as its cause', () => {
  const unread = { ...object('Listener', 'web', 'invalid-file'), spec: {} } as unknown as SkupperResource;
  const text = 'input/resources/web.yaml:10:13: spec.port: must be a whole number';
  const facts = factsOf([unread], { problems: { value: [{ resource: 'Listener/web', isError: true, text }] } });
  const { cause } = explainConnection(facts, 'Listener', 'web') ?? assert.fail('no such object');
  assert.deepEqual([cause?.id, cause?.code, cause?.says], ['listener.spec', 'invalid-file', text]);
});

test('a file that cannot be read is one cause for all its resources, and no finding besides', () => {
  const text = 'input/resources/web.yaml:5:1: it is not YAML: All mapping items must start at the same column.';
  const affected = ['Listener/web', 'Listener/api'];
  const objects = ['web', 'api'].map((name) => object('Listener', name, 'invalid-file'));
  const problem = { file: 'input/resources/web.yaml', isError: true, text, affected };
  const report = checkSite(factsOf(objects, { problems: { value: [problem] } }));
  const of = linesOf(report);
  assert.deepEqual(
    of.causes.map(({ step, affected: whose }) => [step.object, step.says, whose]),
    [['file/input/resources/web.yaml', text, affected]],
  );
  assert.deepEqual(of.findings, []);
});

test('a file that cannot be read is a finding if it never had a resource', () => {
  const text = 'input/resources/new.yaml:1:1: it is not YAML.';
  const problems = { value: [{ file: 'input/resources/new.yaml', isError: true, text }] };
  const { causes, findings } = linesOf(checkSite(factsOf([], { problems })));
  assert.deepEqual([causes, findings.map((step) => [step.object, step.code])], [[], [['file/input/resources/new.yaml', 'invalid-file']]]);
});

suite('a source that cannot be read', () => {
  test('makes a step unknown, and no other', () => {
    const { verdict, steps } =
      explainConnection(
        factsOf([object('Listener', 'web')], { network: { unknown: 'the router API did not answer within 2 s' } }),
        'Listener',
        'web',
      ) ?? assert.fail('no such object');
    assert.equal(verdict, 'unknown');
    assert.deepEqual(
      steps.filter(({ state }) => state === 'unknown').map(({ says }) => says),
      ['the router API did not answer within 2 s'],
    );
  });
});

test('a routing key that differs in case is one cause of a check, and no further finding', () => {
  const sites = [
    site('west', { keys: [{ key: 'Web', listeners: 1, connectors: 0 }] }),
    site('east', { keys: [{ key: 'web', listeners: 0, connectors: 1 }] }),
  ];
  const network = { value: { sites } };
  const keysOf = (objects: readonly SkupperResource[]) =>
    checkSite(factsOf(objects, { network })).findings.filter(({ id }) => id === 'check.keys').length;
  const listener = object('Listener', 'upper', 'no-connector', { routingKey: 'Web' });
  assert.match(checkSite(factsOf([listener], { network })).objects.at(-1)?.cause?.says ?? '', /did you mean "web" \(east\)\?$/);
  assert.deepEqual([keysOf([listener]), keysOf([])], [0, 3]);
});

test('an address of IPv6 has brackets in a title and in a step', () => {
  assert.equal(titleOf(object('Listener', 'web', undefined, { host: '::1' })), 'key "web", [::1]:8080');
  assert.equal(titleOf(object('Connector', 'web', undefined, { host: 'fd00::2' })), 'key "web", [fd00::2]:80');
  const link = object('Link', 'east', undefined, { endpoints: [{ name: 'inter-router', host: '::1', port: '55671' }] });
  const { steps } = explainConnection(factsOf([link]), 'Link', 'east') ?? assert.fail('no such object');
  assert.equal(steps.find(({ id }) => id === 'link.name')?.says, '[::1]:55671');
});

test('the hops of a probe have their round trips from here, however short the path is', () => {
  const sites = [
    site('west', { links: [{ siteId: 'id-hub', cost: 1 }] }),
    site('hub', { links: [{ siteId: 'id-east', cost: 1 }] }),
    site('east', { keys: [{ key: 'web', listeners: 0, connectors: 1 }] }),
  ];
  const hops = [
    { site: 'hub', ok: true, ms: 0.52, waited: 0.4 },
    { site: 'east', ok: true, ms: 30.49, queued: 2_100_000, waited: 29.96, clockAhead: -125_000 },
  ];
  const facts = factsOf([object('Listener', 'web')], { network: { value: { sites } }, probes: new Map([['web', { value: { hops } }]]) });
  const { steps } = explainConnection(facts, 'Listener', 'web') ?? assert.fail('no such object');
  const says = steps.find(({ id }) => id === 'listener.hops')?.says;
  assert.equal(says, 'round trips from here: hub 0.5 ms, east 30.5 ms (2.1 MB queued, 30.0 ms of it in that router)');
  const clock = steps.find(({ id }) => id === 'listener.clock');
  assert.deepEqual([clock?.state, clock?.says], ['warn', 'the clock of east is 2m5s behind the one here']);
});

suite('a probe of a Connector', () => {
  const explain = (probe: NonNullable<SiteFacts['probes']> extends ReadonlyMap<string, infer P> ? P : never, reason?: ConditionCode) =>
    explainConnection(factsOf([object('Connector', 'web', reason)], { probes: new Map([['Connector web', probe]]) }), 'Connector', 'web') ??
    assert.fail('no such object');
  const serverOf = (steps: readonly { readonly id: string; readonly state: string; readonly says: string }[]) =>
    steps.filter(({ id }) => id.startsWith('connector.server')).map(({ state, says }) => `${state} ${says}`);

  test('has precedence over the last connection, in both directions', () => {
    const up = explain({ value: { hops: [], server: { ok: true, ms: 8.16, tls: 5, servers: 2, aside: 1 } } }, 'target-refused');
    assert.deepEqual(serverOf(up.steps), ['pass accepted the connection in 8.2 ms (TLS 5.0 ms); 1 of 2 servers is set aside']);
    const down = explain({ value: { hops: [], server: { ok: false, code: 'target-refused', says: 'Connection refused.' } } });
    assert.deepEqual([down.cause?.id, down.cause?.code, down.cause?.says], ['connector.server', 'target-refused', 'Connection refused.']);
  });

  test('that is not possible says why', () => {
    const { steps } = explain({ unknown: 'the router API is not reachable from here' });
    assert.equal(serverOf(steps)[1], 'unknown the router API is not reachable from here');
  });
});

test('a Site warns of a router that has nearly as many open files as it may', () => {
  const filesOf = (used: number) =>
    explainConnection(factsOf([], { openFiles: [{ router: 'router', used, most: 1_000 }] }), 'Site', 'west')?.steps.find(
      ({ id }) => id === 'site.files',
    );
  assert.deepEqual([filesOf(800)?.state, filesOf(801)?.state, filesOf(801)?.says], ['pass', 'warn', 'router 801 of 1000 open']);
});

suite('a Site', () => {
  const stepOf = (id: string, ...routers: NonNullable<SiteFacts['routers']>) =>
    explainConnection(factsOf([], { routers }), 'Site', 'west')?.steps.find((step) => step.id === id);
  const router = { router: 'router', startedAt: NOW - DAY };

  test('warns of a router whose event loop is so late that users notice it', () => {
    const prompt = stepOf('site.delay', { ...router, eventLoopDelay: 3.2 }, { ...router, eventLoopDelay: 99 });
    assert.deepEqual([prompt?.state, prompt?.says], ['pass', 'event loop at most 99 ms late']);
    const late = stepOf('site.delay', { ...router, eventLoopDelay: 3.2 }, { ...router, router: 'router-2', eventLoopDelay: 180.4 });
    assert.deepEqual(
      [late?.state, late?.says],
      ['warn', 'the event loop of router router-2 is 180 ms late (p99): data of its connections waits as long'],
    );
    assert.equal(checkSite(factsOf([], { routers: [{ ...router, eventLoopDelay: 180 }] })).verdict, 'warn');
  });

  test('does not warn of a router that has just started, and has no step without a figure', () => {
    assert.equal(stepOf('site.delay', { router: 'router', startedAt: NOW - 10_000, eventLoopDelay: 400 })?.state, 'pass');
    assert.equal(stepOf('site.delay', router), undefined);
  });

  for (const [what, contested, state] of [
    ['nothing contests it', undefined, undefined],
    ['its clock was set back', { count: 1, last: NOW - 1_000 }, undefined],
    ['a copy of it runs', { count: 7, last: NOW - 9_000 }, 'fail'],
    ['a copy of it ended an hour ago', { count: 70, last: NOW - DAY / 24 }, undefined],
  ] as const)
    test(`${state === undefined ? 'does not report a copy' : 'reports a copy that has its ID'} if ${what}`, () => {
      const step = stepOf('site.copies', { ...router, ...(contested === undefined ? {} : { contested }) });
      assert.equal(step?.state, state);
      if (state === undefined) return;
      assert.match(
        step?.says ?? '',
        /^a copy of this site runs elsewhere: it announced router router with this site's ID at 2029-12-31T23:59:51Z$/,
      );
      const { verdict, objects } = checkSite(factsOf([], { routers: [{ ...router, contested: { count: 7, last: NOW } }] }));
      assert.deepEqual([verdict, objects.find(({ object: name }) => name === 'Site/west')?.cause?.id], ['fail', 'site.copies']);
    });
});
