import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../support/any-text.ts';
import { parseResources, type ParsedFile } from '../../../src/platform/linux/parse.ts';
import { kubernetes } from '../../../src/site/cluster-platform.ts';
import { keyOf } from '../../../src/site/resources.ts';

const listener = (name: string, port: string | number = 8080): string =>
  `apiVersion: skupper.io/v2alpha1\nkind: Listener\nmetadata:\n  name: ${name}\nspec:\n  routingKey: k\n  host: 127.0.0.1\n  port: ${port}\n`;

function parse(text: string): Promise<ParsedFile> {
  return parseResources(text, 'input/resources/x.yaml', 'west');
}

const keys = (parsed: ParsedFile): readonly string[] => parsed.objects.map(({ value }) => keyOf(value));

test('several documents of one file are several resources, and empty ones are none', async () => {
  const parsed = await parse(`---\n${listener('a')}---\n---\n# nothing\n---\n${listener('b')}...\n`);
  assert.deepEqual(keys(parsed), ['Listener/a', 'Listener/b']);
  assert.deepEqual(parsed.problems, []);
});

test('JSON is read as well', async () => {
  const parsed = await parse(JSON.stringify({ apiVersion: 'skupper.io/v2alpha1', kind: 'Site', metadata: { name: 'west' }, spec: {} }));
  assert.deepEqual(keys(parsed), ['Site/west']);
});

test('an invalid field is reported with its line and column, and the other documents are read', async () => {
  const { problems, objects } = await parse(`${listener('a', 'eighty')}---\n${listener('b')}`);
  assert.equal(objects.length, 1);
  assert.deepEqual(
    problems.map(({ line, column, field, severity, resource }) => ({ line, column, field, severity, resource })),
    [{ line: 8, column: 9, field: 'spec.port', severity: 'error', resource: 'Listener/a' }],
  );
});

test('a field that does not exist is a warning at its place, and the resource is read', async () => {
  const { problems, objects } = await parse(`${listener('a')}  ports: 1\n`);
  assert.equal(objects.length, 1);
  assert.deepEqual(
    problems.map(({ line, severity }) => [line, severity]),
    [[9, 'warning']],
  );
});

for (const [name, text, line, message] of [
  ['an open bracket', 'a: [1,\n', 2, /not YAML/],
  ['a tab for indentation', 'a:\n\tb: 1\n', 2, /not YAML/],
  ['a key twice', `${listener('a')}  port: 1\n`, 9, /"port" occurs twice/],
  ['text alone', 'hello\n', 1, /a resource is an object/],
  ['an unknown kind', 'apiVersion: skupper.io/v2alpha1\nkind: Router\nmetadata: {name: a}\nspec: {}\n', 2, /must be one of/],
  [
    'a kind of Kubernetes only',
    'apiVersion: skupper.io/v2alpha1\nkind: AttachedConnectorBinding\nmetadata: {name: a}\nspec: {connectorNamespace: n, routingKey: k}\n',
    1,
    /Kubernetes only/,
  ],
  ['a name that would be a path', listener('../../etc'), 4, /must be lower-case letters/],
] as const) {
  test(`${name} is a problem with its line`, async () => {
    const { problems } = await parse(text);
    assert.equal(problems.length, 1, JSON.stringify(problems));
    assert.equal(problems[0]?.line, line);
    assert.match(problems[0]?.message ?? '', message);
  });
}

test('a Secret is a TLS bundle, as links for other sites hold them', async () => {
  const data = { 'tls.crt': Buffer.from('CERT').toString('base64'), 'ca.crt': Buffer.from('CA').toString('base64') };
  const { bundles, problems } = await parse(
    JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'link-west' }, data, stringData: { 'tls.key': 'KEY' } }),
  );
  assert.deepEqual(problems, []);
  assert.deepEqual(
    bundles.map(({ value }) => value),
    [{ name: 'link-west', cert: 'CERT', key: 'KEY', ca: 'CA' }],
  );
});

test("a Secret does not take the place of the site's own certificates, since the file of a link comes from another site", async () => {
  for (const name of ['earshot-site-server', 'skupper-site-ca', 'earshot-site-ca', 'skupper-service-ca']) {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { 'tls.crt': 'CERT', 'tls.key': 'KEY' } };
    const { bundles, problems } = await parse(JSON.stringify(secret));
    assert.deepEqual(bundles, [], name);
    assert.deepEqual(
      problems.map(({ field, severity, message }) => [
        field,
        severity,
        /is ignored: the site's own certificates have this name/.test(message),
      ]),
      [['metadata.name', 'warning', true]],
      name,
    );
  }
});

test('a Secret of type basic-auth with host and port is the proxy of links', async () => {
  const read = async (stringData: Record<string, string>, type = 'kubernetes.io/basic-auth') => {
    const secret = { apiVersion: 'v1', kind: 'Secret', type, metadata: { name: 'proxy' }, stringData };
    const { proxies, bundles, problems } = await parseResources(JSON.stringify(secret), 'proxy.yaml', 'default');
    assert.deepEqual(bundles, []);
    return problems.length > 0 ? problems.map(({ message }) => message) : proxies.map(({ value }) => value);
  };
  const whole = { host: 'proxy.example', port: '3128', username: 'me', password: 'hunter2' };
  assert.deepEqual(await read(whole), [
    { name: 'proxy', proxy: { host: 'proxy.example', port: 3128, username: 'me', password: 'hunter2' } },
  ]);
  assert.deepEqual(await read({ host: 'proxy.example', port: '3128', username: '' }), [
    { name: 'proxy', proxy: { host: 'proxy.example', port: 3128 } },
  ]);
  const none = ['needs host and port of a proxy: Secrets of this type have no other use here.'];
  for (const wrong of [
    { ...whole, host: '' },
    { ...whole, host: 'a b\r\nx' },
    { ...whole, port: '0' },
    { ...whole, port: 'http' },
  ]) {
    assert.deepEqual(await read(wrong), none);
  }
});

test('a Secret of something else is named, and its values are not', async () => {
  const { bundles, problems } = await parse(
    JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' }, stringData: { password: 'hunter2' } }),
  );
  assert.deepEqual(bundles, []);
  assert.match(problems[0]?.message ?? '', /needs one of tls\.crt/);
  assert.doesNotMatch(JSON.stringify(problems), /hunter2/);
});

test('invalid base64 is reported at once, for any amount of white space', async () => {
  const before = process.cpuUsage().user;
  const { problems } = await parse(
    JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' }, data: { 'tls.crt': `${' '.repeat(120_000)}!` } }),
  );
  const spent = (process.cpuUsage().user - before) / 1_000;
  assert.match(problems[0]?.message ?? '', /is not base64/);
  assert.ok(spent < 1_000, `${spent} ms`);
});

test('a resource of another namespace runs here, with a warning', async () => {
  const { objects, problems } = await parse(listener('a').replace('name: a', 'name: a\n  namespace: east'));
  assert.equal(objects[0]?.value.metadata.namespace, 'west');
  assert.deepEqual(
    problems.map(({ severity, line }) => [severity, line]),
    [['warning', 5]],
  );
});

for (const [name, text] of [
  ['brackets without end', '['.repeat(500_000)],
  ['lists in lists', '- '.repeat(200_000)],
  ['keys in keys', '? '.repeat(200_000)],
  ['anchors without end', '&a '.repeat(150_000)],
  ['tags without end', '!!x '.repeat(120_000)],
  [
    'the billion laughs',
    `a: &a [x,x]\n${[...'bcdefghijk'].map((key, index, all) => `${key}: &${key} [${`*${all[index - 1] ?? 'a'},`.repeat(9)}]\n`).join('')}`,
  ],
  [
    'aliases within the bounds that still explode',
    `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`,
  ],
  ['an alias of itself', 'a: &a\n  b: *a\n'],
  ['a deep block', Array.from({ length: 600 }, (_, index) => `${' '.repeat(index)}a:\n`).join('')],
  ['more indentation than anyone needs', `${' '.repeat(400_000)}a: b`],
] as const) {
  test(`${name}: refused with a place, soon`, { timeout: 20_000 }, async () => {
    const { objects, problems } = await parse(text);
    assert.deepEqual(objects, []);
    assert.ok(problems.length > 0 && problems.length <= 51);
    assert.ok(problems.every(({ line, message }) => line !== undefined && message.length < 600));
  });
}

for (const [name, text, line] of [
  ['keys without end in braces', `a: 1\nb: {${Array.from({ length: 20_000 }, (_, number) => `k${number}: 1`).join(', ')}}\n`, 2],
  ['a list without end', '- 1\n'.repeat(40_000), 2_000],
  ['remarks without end', `a:\n${'  # b\n'.repeat(40_000)}  c: 1\n`, 3_333],
  ['lines of a text without end', `a: |\n${'  b\n'.repeat(40_000)}`, 2],
  ['escapes without end', `a: "${'\\q'.repeat(40_000)}"\n`, 1],
] as const) {
  test(`${name}: a resource over the size limit is reported with the line where the limit is reached`, async () => {
    const { objects, problems } = await parse(`${listener('a')}---\n${text}`);
    assert.deepEqual(objects, []);
    assert.deepEqual(
      problems.map((problem) => [problem.line, problem.message]),
      [[9 + line, 'the resource has too many parts; remove unneeded parts, such as a status.']],
    );
  });
}

test('so many parts are read where many resources have them', async () => {
  const { objects, problems } = await parse(Array.from({ length: 2_000 }, (_, number) => listener(`l${number}`)).join('---\n'));
  assert.deepEqual(problems, []);
  assert.equal(objects.length, 2_000);
});

test('thousands of keys are one problem', { timeout: 20_000 }, async () => {
  const { problems } = await parse(Array.from({ length: 12_000 }, (_, index) => `k${index}: 1\n`).join(''));
  assert.ok(problems.length >= 1 && problems.length <= 51);
});

test('no text makes the parser throw, nor gives a resource that was not validated', async () => {
  const piece = fc.constantFrom(
    '---\n',
    'a: ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    '\n',
    '  ',
    '"',
    "'",
    '&a ',
    '*a',
    '!!str ',
    '? ',
    '|\n',
    '>-\n',
    '#',
    '__proto__: ',
    'kind: Site\n',
    'apiVersion: skupper.io/v2alpha1\n',
    'metadata: {name: x}\n',
    'spec: {}\n',
    '\t',
    '\0',
    '\uFEFF',
    '%YAML 1.2\n',
    '<<: ',
    '...\n',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(piece, anyText({ maxLength: 8 })), { maxLength: 40 }), async (pieces) => {
      const parsed = await parse(pieces.join(''));
      for (const { value } of parsed.objects) assert.equal(value.apiVersion, 'skupper.io/v2alpha1');
    }),
    { numRuns: 60 },
  );
});

test('quotations of a file in a problem are safe for a terminal', async () => {
  for (const text of [
    '|\u001b[31m\u0007x\u202e\n',
    '"\u0085',
    'apiVersion: skupper.io/v2alpha1\nkind: Listener\nmetadata: {name: a}\nspec: {"\\e[2J\\u2028": 1, port: "\\a"}\n',
  ]) {
    const { problems } = await parse(text);
    assert.ok(problems.length > 0, text);
    for (const { message, field = '' } of problems) assert.doesNotMatch(message + field, /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u);
  }
});

test('a RouterAccess without tlsCredentials has the bundle of its name on a machine, and is refused in a cluster', async () => {
  const text = JSON.stringify({
    apiVersion: 'skupper.io/v2alpha1',
    kind: 'RouterAccess',
    metadata: { name: 'far' },
    spec: { roles: [{ name: 'edge' }] },
  });
  const { objects, problems } = await parse(text);
  assert.deepEqual(problems, []);
  assert.partialDeepStrictEqual(objects[0]?.value.spec, { tlsCredentials: 'far' });
  const inCluster = await parseResources(text, 'x.yaml', 'west', kubernetes);
  assert.deepEqual(
    inCluster.problems.map(({ field }) => field),
    ['spec.tlsCredentials'],
  );
});
