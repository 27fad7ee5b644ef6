import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseDuration } from '../../../src/api/skupper/duration.ts';
import { problemText, validateResource } from '../../../src/api/skupper/validate.ts';

const apiVersion = 'skupper.io/v2alpha1';
const object = (kind: string, spec: unknown, metadata: unknown = { name: 'backend' }) => ({ apiVersion, kind, metadata, spec });
const listener = { routingKey: 'backend', host: 'localhost', port: 8080 };
const connector = { routingKey: 'backend', host: 'localhost', port: 8080 };
const multi = { host: 'localhost', port: 8080 };
const texts = (value: unknown) => validateResource(value).problems.map((problem) => `${problem.severity} ${problemText(problem)}`);
const withKey = (json: string): unknown => JSON.parse(json);

describe('a valid resource', () => {
  it('comes back with its defaults and without status', () => {
    const { resource, problems } = validateResource({ ...object('Listener', listener), status: { status: 'Ready' } });
    assert.deepEqual(problems, []);
    assert.deepEqual(resource, object('Listener', { ...listener, type: 'tcp', exposePodsByName: false }));
  });

  it('keeps what identifies it and what people attached to it, and no more of its metadata', () => {
    const attached = { labels: { tier: 'web' }, annotations: { 'example.com/x': 'y' } };
    const kept = { name: 'a.b', namespace: 'west', ...attached, generation: 3, uid: 'u' };
    const { resource } = validateResource(object('Site', {}, { ...kept, managedFields: [], resourceVersion: '7' }));
    assert.deepEqual(resource?.metadata, kept);
  });

  it('loses fields that are not known, each with a warning', () => {
    const { resource, problems } = validateResource(object('Listener', { ...listener, tlscredentials: 'a', colour: 'red' }));
    assert.deepEqual(Object.keys(resource?.spec ?? {}).toSorted(), ['exposePodsByName', 'host', 'port', 'routingKey', 'type']);
    assert.deepEqual(
      problems.map(({ severity, path }) => [severity, path]),
      [
        ['warning', 'spec.tlscredentials'],
        ['warning', 'spec.colour'],
      ],
    );
    assert.match(problems[0]?.message ?? '', /did you mean tlsCredentials\?$/);
    assert.match(problems[1]?.message ?? '', /known are routingKey, host, port,/);
  });

  it('may have no spec where no field of it must be given', () => {
    const { spec: _spec, ...bare } = object('Site', {});
    assert.deepEqual(validateResource(bare), {
      resource: object('Site', { ha: false, edge: false }),
      identity: { kind: 'Site', name: 'backend' },
      problems: [],
    });
  });

  it('may hold null for what is left out', () => {
    assert.deepEqual(texts(object('Connector', { ...connector, selector: null, settings: null })), []);
  });
});

const aListener = (spec: object) => object('Listener', { ...listener, ...spec });
const aConnector = (spec: object) => object('Connector', { ...connector, ...spec });
const byStrategy = (strategy: object) => object('MultiKeyListener', { ...multi, strategy });

const cases: readonly (readonly [name: string, value: unknown, problems: readonly (string | RegExp)[]])[] = [
  ['nothing', undefined, ['error a resource is an object with `apiVersion`, `kind`, `metadata` and `spec`']],
  ['a list', [], ['error a resource is an object with `apiVersion`, `kind`, `metadata` and `spec`']],
  ['another group', { apiVersion: 'v1', kind: 'Secret' }, [`error apiVersion: must be ${apiVersion}, not "v1"`]],
  ['no kind', { apiVersion }, [/^error kind: must be one of Site, /]],
  ['a kind of Object’s own', { apiVersion, kind: 'constructor' }, [/^error kind: must be one of .*, not "constructor"$/]],
  ['no metadata', { apiVersion, kind: 'Site', spec: {} }, ['error metadata: must be an object with a `name`']],
  ['a number for a name', object('Site', {}, { name: 7 }), ['error metadata.name: must be text: put it in quotes']],
  ['a path for a name', object('Site', {}, { name: '../x' }), [/^error metadata\.name: must be lower-case .*, not "\.\.\/x"$/]],
  ['no spec where fields must be given', object('Link', undefined), ['error spec.endpoints: must be given']],
  ['a text for a spec', object('Site', 'x'), ['error spec: must be a map, not text']],
  ['left-out fields', object('Listener', {}), ['routingKey', 'host', 'port'].map((name) => `error spec.${name}: must be given`)],
  ['a text for a port', aListener({ port: '80' }), ['error spec.port: must be a whole number from 1 to 65535, not the text "80"']],
  ['port 0', aListener({ port: 0 }), ['error spec.port: must be a whole number from 1 to 65535, not 0']],
  ['port 65536', aListener({ port: 65_536 }), ['error spec.port: must be a whole number from 1 to 65535, not 65536']],
  ['half a port', aListener({ port: 80.5 }), ['error spec.port: must be a whole number from 1 to 65535, not 80.5']],
  ['a number for a host', aListener({ host: 10 }), ['error spec.host: must be text, not a number: put it in quotes']],
  ['an empty host', aListener({ host: '' }), ['error spec.host: must not be empty']],
  ['a space in a key', aListener({ routingKey: 'a b' }), [/^error spec\.routingKey: must be letters, .*, not "a b"$/]],
  [
    'a reserved key',
    aListener({ routingKey: 'earshot:x' }),
    ['error spec.routingKey: must not begin with `earshot:`: such keys are kept for the system'],
  ],
  ['a connector of one', aConnector({ routingKey: 'earshot:' }), [/^error spec\.routingKey: must not begin with `earshot:`/]],
  [
    'a reserved key among others',
    byStrategy({ priority: { routingKeys: ['a', 'earshot:b'] } }),
    [/^error spec\.strategy\.priority\.routingKeys\[1\]: must not begin with `earshot:`/],
  ],
  ['a long key', aListener({ routingKey: 'a'.repeat(254) }), ['error spec.routingKey: must have at most 253 characters, not 254']],
  ['yes for true', object('Site', { edge: 'yes' }), ['error spec.edge: must be true or false, without quotes, not text']],
  ['an unknown observer', aListener({ observer: 'http3' }), ['error spec.observer: must be one of auto, none, http1, http2, not "http3"']],
  ['neither host nor selector', aConnector({ host: undefined }), ['error spec: give exactly one of `host` and `selector`']],
  ['host and selector', aConnector({ selector: 'a=b' }), ['error spec: give exactly one of `host` and `selector`']],
  ['no strategy', object('MultiKeyListener', multi), ['error spec.strategy: must be given']],
  ['an empty strategy', byStrategy({}), ['error spec.strategy: give exactly one of `priority` and `weighted`']],
  [
    'no keys',
    byStrategy({ priority: { routingKeys: [] } }),
    ['error spec.strategy.priority.routingKeys: must have 1 to 256 entries, not 0'],
  ],
  [
    'a key twice',
    byStrategy({ priority: { routingKeys: ['a', 'a'] } }),
    ['error spec.strategy.priority.routingKeys: must not hold the same entry twice'],
  ],
  [
    'a weight below zero',
    byStrategy({ weighted: { routingKeys: { 'a b': -1 } } }),
    ['error spec.strategy.weighted.routingKeys["a b"]: must be a whole number from 0 to 1000000, not -1'],
  ],
  [
    'a number for an endpoint’s port',
    object('Link', { endpoints: [{ host: 'a', port: 55_671 }] }),
    ['error spec.endpoints[0].port: must be text, not a number: put it in quotes'],
  ],
  ['a free link', object('Link', { endpoints: [], cost: -1 }), ['error spec.cost: must be a whole number from 0 to 65535, not -1']],
  [
    'many redemptions',
    object('AccessGrant', { redemptionsAllowed: 2 ** 31 }),
    ['error spec.redemptionsAllowed: must be a whole number from 0, not 2147483648'],
  ],
  [
    'days',
    object('AccessGrant', { expirationWindow: '2d' }),
    ['error spec.expirationWindow: must be a length of time like 15m or 1h30m, not "2d"'],
  ],
  [
    'a number for a setting',
    object('Site', { settings: { size: 1 } }),
    ['error spec.settings.size: must be text, not a number: put it in quotes'],
  ],
];

describe('what is wrong is named by its field', () => {
  for (const [name, value, problems] of cases) {
    it(name, () => {
      const found = texts(value);
      assert.equal(found.length, problems.length, found.join('\n'));
      for (const [index, expected] of problems.entries()) {
        if (typeof expected === 'string') assert.equal(found[index], expected);
        else assert.match(found[index] ?? '', expected);
      }
      assert.equal(validateResource(value).resource, undefined);
    });
  }

  it('and the object is named where its spec is wrong', () => {
    assert.deepEqual(validateResource(object('Site', { edge: 1 })).identity, { kind: 'Site', name: 'backend' });
    assert.equal(validateResource(object('Site', {}, { name: '..' })).identity, undefined);
  });
});

describe('hostile input', () => {
  it('does not reach prototypes', () => {
    const value = withKey(`{"apiVersion":"${apiVersion}","kind":"Site","metadata":{"name":"a","__proto__":{"labels":{"x":"y"}}},
      "spec":{"__proto__":{"edge":true},"constructor":1,"settings":{"__proto__":"z"}},"__proto__":{}}`);
    const { resource } = validateResource(value);
    assert.ok(resource?.kind === 'Site');
    assert.equal(resource.spec.edge, false);
    assert.equal(Object.getPrototypeOf(resource.spec), Object.prototype);
    assert.equal(Object.getPrototypeOf(resource.spec.settings), Object.prototype);
    assert.equal(resource.metadata.labels, undefined);
  });

  it('is quoted short and on one line, without what hides or moves text', () => {
    const [text = ''] = texts(object('Listener', { ...listener, routingKey: `\u{1b}[2J\u{202e}\n\u{2028} ${'x'.repeat(100)}` }));
    assert.match(text, /^[ -~…]+$/);
    assert.ok(text.length < 250, text);
  });

  it('does not show the value of a code', () => {
    const token = { url: 'https://example.com', ca: 'x' };
    for (const code of [123_456, '', 'y'.repeat(2000), ['123456'], { a: '123456' }]) {
      const found = texts(object('AccessToken', { ...token, code }));
      assert.equal(found.length, 1);
      assert.doesNotMatch(found.join(), /123456|yyy/);
    }
  });

  it('reports a bounded number of problems and says how many more there are', () => {
    const settings = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, index]));
    const { problems } = validateResource(object('Site', { settings }));
    assert.equal(problems.length, 51);
    assert.equal(problems.at(-1)?.message, 'and 950 more problems');
  });

  it('is refused where a list or a map is huge', () => {
    assert.deepEqual(texts(object('Link', { endpoints: Array.from({ length: 65 }, () => ({})) })), [
      'error spec.endpoints: must have 0 to 64 entries, not 65',
    ]);
    const settings = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`k${index}`, 'v']));
    assert.deepEqual(texts(object('Site', { settings })), ['error spec.settings: must have 0 to 4096 entries, not 5000']);
  });

  it('goes no deeper than the schema', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level += 1) deep = { deep };
    assert.equal(validateResource(object('Site', { deep })).problems.length, 1);
    assert.equal(validateResource(object('Site', { settings: { deep } })).resource, undefined);
  });

  it('of any form is taken or refused, never thrown at', () => {
    const kinds = fc.constantFrom('Site', 'Listener', 'Connector', 'MultiKeyListener', 'Link');
    const specs = fc.object({ key: fc.constantFrom('routingKey', 'host', 'port', 'strategy', 'priority', 'settings', '__proto__', 'x') });
    fc.assert(
      fc.property(kinds, fc.oneof(fc.anything(), specs), (kind, spec) => {
        const { resource, problems } = validateResource(object(kind, spec));
        assert.equal(
          resource === undefined,
          problems.some(({ severity }) => severity === 'error'),
        );
        if (resource === undefined) return;
        assert.deepEqual(validateResource(resource), { resource, identity: { kind, name: 'backend' }, problems: [] });
      }),
      { numRuns: 300 },
    );
  });
});

describe('a length of time', () => {
  const lengths: readonly (readonly [string, number | undefined])[] = [
    ['15m', 900_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['250ms', 250],
    ['0s', undefined],
    ['15', undefined],
    ['-1m', undefined],
    ['999999999h', undefined],
    ['1h '.repeat(2), undefined],
  ];
  for (const [text, milliseconds] of lengths) it(`of "${text}"`, () => assert.equal(parseDuration(text), milliseconds));
});
