import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ConditionChanges } from '../../../src/agent/condition-changes.ts';
import { RouterApi, type ApiAnswer, type RouterApiSources } from '../../../src/agent/api/router-api.ts';
import type { RecordQuery, RecordsView, RequestQuery, RouterRecord, RouterState, SiteIdentity } from '../../../src/router/contract.ts';
import { limitTable } from '../../../src/limits/table.ts';
import { anyText } from '../support/any-text.ts';

const west: SiteIdentity = { id: 'w', name: 'west', namespace: 'n', platform: 'linux', version: '1' };
const east: SiteIdentity = { ...west, id: 'e', name: 'east' };

function aRecord(router: string, site: SiteIdentity, given: Partial<RouterRecord> = {}): RouterRecord {
  return { router, site, edge: false, links: [], keys: [], ...given };
}

const network: readonly RouterRecord[] = [
  aRecord('w/1', west, {
    links: [
      { name: '1', siteId: 'e', siteName: 'east', cost: 5 },
      { name: '2', siteId: 'w', siteName: 'west', cost: 1 },
    ],
    keys: [{ routingKey: 'web', listeners: 1, connectors: 0 }],
  }),
  aRecord('w/2', west, { keys: [{ routingKey: 'web', listeners: 1, connectors: 0 }] }),
  aRecord('e/1', east, {
    edge: true,
    keys: [
      { routingKey: 'web', listeners: 0, connectors: 3 },
      { routingKey: 'a/b', listeners: 2, connectors: 0 },
    ],
  }),
];

const idle: RouterState = { listeners: {}, connectors: {}, links: {}, accesses: {}, incoming: [], network: [] };

interface Asked {
  readonly api: RouterApi;
  readonly get: (target: string) => ApiAnswer;
  readonly done: string[];
  state: RouterState;
}

function anApi(given: Partial<RouterApiSources> = {}): Asked {
  const done: string[] = [];
  const asked: Asked = {
    done,
    state: { ...idle, network },
    api: new RouterApi({
      router: 'router',
      version: '1',
      startedAt: '2026-01-01T00:00:00Z',
      site: () => west,
      state: () => asked.state,
      links: () => [],
      records: () => undefined,
      keyFigures: () => undefined,
      figures: () => undefined,
      changes: () => undefined,
      unready: () => undefined,
      control: { reload: () => void done.push('reload'), stop: () => void done.push('stop') },
      now: () => 1_767_225_600_000,
      ...given,
    }),
    // Only other methods take time.
    get: (target) => asked.api.answer({ method: 'GET', target }) as ApiAnswer,
  };
  return asked;
}

test('a router says who it is, and why it is not ready', () => {
  const self = { router: 'router', version: '1', startedAt: '2026-01-01T00:00:00Z', site: west, ready: true };
  assert.deepEqual(anApi().get('/v1/self'), { status: 200, body: self });
  const starting = anApi({ unready: () => 'starting', site: () => undefined }).get('/v1/self');
  assert.deepEqual(starting.body, { ...self, site: null, ready: false, unready: 'starting' });
  const figures = { eventLoopDelay: 2.5, contested: { count: 3, last: 1_767_225_600_000 } };
  assert.deepEqual(anApi({ selfFigures: () => figures }).get('/v1/self').body, { ...self, ...figures });
  assert.deepEqual(anApi({ selfFigures: () => undefined }).get('/v1/self').body, self);
});

test('its figures are those of the router, and none before it runs', () => {
  const [at, none] = [{ asOf: '2026-01-01T00:00:00.000Z' }, { certificates: [], items: [] }];
  assert.deepEqual(anApi().get('/v1/figures').body, { ...at, ...none });
  const figures = { eventLoopDelay: 2.5, certificates: [{ bundle: 'east', days: 3 }], items: [] };
  assert.deepEqual(anApi({ figures: () => figures }).get('/v1/figures').body, { ...at, ...figures });
});

test('its network has each site once, with all its routers and its links to other sites', () => {
  const { body } = anApi().get('/v1/network');
  const about = { namespace: 'n', platform: 'linux', version: '1' };
  const items = [
    { id: 'w', name: 'west', ...about, edge: false, routers: ['w/1', 'w/2'], links: [{ siteId: 'e', siteName: 'east', cost: 5 }] },
    { id: 'e', name: 'east', ...about, edge: true, routers: ['e/1'], links: [] },
  ];
  assert.deepEqual(body, { ...body, total: 2, asOf: '2026-01-01T00:00:00.000Z', items });
});

test('keys have the count of one router of each site, and one of them can be asked for by its name', () => {
  const { get } = anApi();
  const slashed = { key: 'a/b', listeners: [{ site: 'e', count: 2 }], connectors: [], reachable: false };
  const web = { key: 'web', listeners: [{ site: 'w', count: 1 }], connectors: [{ site: 'e', count: 3 }], reachable: true };
  assert.deepEqual(get('/v1/keys').body, { ...get('/v1/keys').body, items: [slashed, web], total: 2 });
  assert.deepEqual(get('/v1/keys/a%2Fb').body, { asOf: '2026-01-01T00:00:00.000Z', ...slashed });
  assert.deepEqual([get('/v1/keys/gone').status, get('/v1/keys/%').status], [404, 404]);
});

test('a client that sends a known version learns only whether it is current', () => {
  const asked = anApi();
  const { version } = asked.get('/v1/keys').body as { readonly version: string };
  const again = asked.get(`/v1/keys?since=${version}`).body;
  assert.deepEqual(again, { version, asOf: '2026-01-01T00:00:00.000Z', total: 2, unchanged: true });
  asked.state = { ...idle, network: network.slice(0, 1) };
  const changed = asked.get(`/v1/keys?since=${version}`).body as { readonly version: string; readonly items: readonly object[] };
  assert.notEqual(changed.version, version);
  assert.equal(changed.items.length, 1);
  const restarted = anApi({ now: () => 1_767_225_600_001 }).get(`/v1/keys?since=${version}`).body;
  assert.ok('items' in restarted, 'a version of before a restart is another');
});

test('links are those that the site opens, with what became of them, and those that others opened', () => {
  const endpoints = [{ host: 'east.example.com', port: 55_671 }];
  const tls = { name: 'east', cert: 'CERT', key: 'KEY', ca: 'CA' };
  const asked = anApi({ links: () => ['east', 'toString'].map((name) => ({ name: `Link/${name}`, endpoints, cost: 5, tls })) });
  const incoming = [{ siteId: 's', siteName: 'south', serial: 'A1', address: '192.0.2.1' }];
  const up = { operational: true, remoteSiteId: 'e', endpoint: 'east.example.com:55671' };
  asked.state = { ...idle, links: { 'Link/east': up }, incoming, endedIncoming: [] };
  const { body } = asked.get('/v1/links');
  const items = [
    { name: 'east', cost: 5, endpoints, ...up },
    { name: 'toString', cost: 5, endpoints, operational: false },
  ];
  assert.deepEqual(body, { asOf: '2026-01-01T00:00:00.000Z', items, incoming, endedIncoming: [] });
  assert.doesNotMatch(JSON.stringify(body), /KEY|CERT/, 'no key leaves the router');
});

test('it reads its resources again, and stops, when it is asked to', async () => {
  const { api, done } = anApi();
  for (const target of ['/v1/reload', '/v1/stop']) assert.equal((await api.answer({ method: 'POST', target })).status, 202);
  assert.deepEqual(done, ['reload', 'stop']);
});

test('a wrong method or path says which there are, and does nothing', async () => {
  const { api, get, done } = anApi();
  const wrong = get('/v1/stop');
  assert.deepEqual([wrong.status, wrong.allow, done.length], [405, 'POST', 0]);
  assert.deepEqual((await api.answer({ method: 'toString', target: '/v1/self' })).status, 405);
  const nothing = get('/v2/self');
  assert.deepEqual([nothing.status, (nothing.body as { readonly code: string }).code], [404, 'not-found']);
});

test('whatever is asked for, there is an answer', async () => {
  const { api } = anApi();
  const target = fc.oneof(
    anyText(),
    anyText().map((text) => `/v1/keys/${text}`),
    anyText().map((text) => `/v1/keys?since=${text}`),
    anyText().map((text) => `/v1/connections?${text}`),
    fc.tuple(fc.constantFrom('since', 'cursor', 'limit', 'age'), anyText()).map(([name, text]) => `/v1/connections?${name}=${text}`),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('GET', 'POST', '__proto__', ''), target, async (method, asked) => {
      const { status, body } = await api.answer({ method, target: asked });
      assert.ok(status >= 200 && JSON.stringify(body) !== undefined);
    }),
  );
});

test('connections are listed by page, with a query that is checked, and ended on machines only', async () => {
  const asked: RecordQuery[] = [];
  const ended: string[] = [];
  const records: RecordsView = {
    list: (query) => {
      asked.push(query);
      return { items: [], next: 5_000, total: 7, latest: 3 };
    },
    listRequests: () => ({ items: [], next: undefined, total: 0, latest: 0 }),
    end: (id) => Promise.resolve(ended.push(id) > 0 && id === 'abc1'),
  };
  const { api, get } = anApi({ records: () => records });
  const { body } = get('/v1/connections?state=ended&key=a%2Fb&site=east&age=60&limit=10&cursor=9');
  const epoch = (1_767_225_600_000).toString(36);
  assert.deepEqual(body, { asOf: '2026-01-01T00:00:00.000Z', version: `${epoch}-3`, total: 7, next: '5000', items: [] });
  get(`/v1/connections?since=${epoch}-3`);
  get('/v1/connections?since=older-3');
  assert.deepEqual(asked, [
    { state: 'ended', key: 'a/b', site: 'east', age: 60_000, limit: 10, cursor: 9 },
    { state: 'open', limit: 100, after: 3 },
    { state: 'open', limit: 100 },
  ]);
  for (const wrong of ['state=toString', 'limit=0', 'limit=1001', 'cursor=-1', 'age=x', 'kee=web'])
    assert.equal(get(`/v1/connections?${wrong}`).status, 400, wrong);
  const answers = ['abc1', 'abc2'].map((id) => api.answer({ method: 'DELETE', target: `/v1/connections/${id}` }));
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  assert.deepEqual(
    [statuses, ended],
    [
      [202, 404],
      ['abc1', 'abc2'],
    ],
  );
});

test('a router without records says how to get them', () => {
  const { status, body } = anApi().get('/v1/connections');
  assert.equal(status, 404);
  assert.match(JSON.stringify(body), /--records 0/);
});

test('a site is asked for figures by its ID, and what its routers answered is the answer', async () => {
  const site = '0a1b2c3d-0000-8000-8000-000000000001';
  const routers = [{ router: 'r', code: 'not-shared', message: 'words' }];
  const { api } = anApi({ observe: (id) => Promise.resolve(id === site ? routers : undefined) });
  const post = async (target: string): Promise<ApiAnswer> => api.answer({ method: 'POST', target });
  assert.deepEqual(await post(`/v1/observe?site=${site}`), { status: 200, body: { asOf: '2026-01-01T00:00:00.000Z', site, routers } });
  assert.equal((await post(`/v1/observe?site=${site.replace('1', '2')}`)).status, 404);
  for (const target of ['/v1/observe', '/v1/observe?site=', '/v1/observe?site=../x']) assert.equal((await post(target)).status, 400);
  const got = await api.answer({ method: 'GET', target: '/v1/observe' });
  assert.deepEqual([got.status, got.allow], [405, 'POST']);
});

test('sites beyond a number are not asked for figures at once', async () => {
  const site = '0a1b2c3d-0000-8000-8000-000000000001';
  const { promise, resolve } = Promise.withResolvers<readonly never[]>();
  const { api } = anApi({ observe: () => promise });
  const ask = async (): Promise<number> => (await api.answer({ method: 'POST', target: `/v1/observe?site=${site}` })).status;
  const asked = Array.from({ length: limitTable.observationsAtOnce.value }, ask);
  assert.equal(await ask(), 503);
  resolve([]);
  assert.ok((await Promise.all(asked)).every((status) => status === 200));
  assert.equal(await ask(), 200);
});

test('changes of conditions are listed, all of them or those after a version', () => {
  const changes = new ConditionChanges();
  const { get } = anApi({ changes: () => changes });
  const at = '2026-01-01T00:00:00Z';
  const change = {
    at,
    kind: 'Listener',
    name: 'web',
    type: 'Matched',
    status: 'False',
    before: null,
    reason: 'NoConnector',
    message: 'None.',
  };
  changes.add([change]);
  const { version, items, total } = get('/v1/changes').body as Page;
  assert.deepEqual([items, total], [[change], 1]);
  changes.add([{ ...change, status: 'True', before: 'False' }]);
  const later = get(`/v1/changes?since=${version}`).body as Page;
  assert.deepEqual([later.items, later.total], [[{ ...change, status: 'True', before: 'False' }], 2]);
  assert.deepEqual((get(`/v1/changes?since=${later.version}`).body as Page).items, []);
  assert.equal((get('/v1/changes?since=older-1').body as Page).items.length, 2, 'of another process');
});

interface Page {
  readonly version: string;
  readonly items: readonly object[];
  readonly total: number;
}

test('requests are listed by page, with a query that is checked', () => {
  const asked: RequestQuery[] = [];
  const records: RecordsView = {
    list: () => ({ items: [], next: undefined, total: 0, latest: 0 }),
    listRequests: (query) => {
      asked.push(query);
      return { items: [], next: 7, total: 9, latest: 9 };
    },
    end: () => Promise.resolve(false),
  };
  const { get } = anApi({ records: () => records });
  const epoch = (1_767_225_600_000).toString(36);
  const { body } = get(`/v1/requests?key=a%2Fb&connection=x1&limit=10&cursor=8&since=${epoch}-3`);
  assert.deepEqual(body, { asOf: '2026-01-01T00:00:00.000Z', version: `${epoch}-9`, total: 9, next: '7', items: [] });
  get('/v1/requests');
  assert.deepEqual(asked, [{ key: 'a/b', connection: 'x1', limit: 10, cursor: 8, after: 3 }, { limit: 100 }]);
  for (const wrong of ['state=open', 'limit=0', 'cursor=x']) assert.equal(get(`/v1/requests?${wrong}`).status, 400, wrong);
  assert.equal(anApi().get('/v1/requests').status, 404);
});

test('a probe asks for one routing key or one connector', async () => {
  const targets: unknown[] = [];
  const probe: RouterApiSources['probe'] = async (target) => {
    targets.push(target);
    return 'key' in target ? { key: target.key, hops: [] } : undefined;
  };
  const { api } = anApi({ probe });
  const statusOf = async (query: string) => (await api.answer({ method: 'POST', target: `/v1/probe?${query}` })).status;
  const queries = ['key=a%2Fb', 'connector=web', '', 'key=a&connector=b', `key=${'a'.repeat(254)}`];
  assert.deepEqual(await Promise.all(queries.map(statusOf)), [200, 404, 400, 400, 400]);
  assert.deepEqual(targets, [{ key: 'a/b' }, { connector: 'Connector/web' }]);
});
