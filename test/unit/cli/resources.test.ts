import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { realDisk } from '../../../src/files/disk.ts';
import { Namespace } from './namespace.ts';

const create = ['listener', 'create', 'backend', '8080', '--host', '127.0.0.1'];
const filled = { routingKey: 'backend', host: '127.0.0.1', port: 8080, type: 'tcp', exposePodsByName: false };
const holds = (type: string, status = 'True') => ({ type, status, lastTransitionTime: '2030-01-01T00:00:00Z', reason: type, message: '' });
const configured = { status: 'Pending', message: 'no connector', conditions: [holds('Configured'), holds('Matched', 'False')] };

const two = `apiVersion: skupper.io/v2alpha1
kind: Listener
metadata: {name: a, namespace: elsewhere, uid: x}
spec: {routingKey: a, host: a, port: 80}
status: {status: Ready}
---
apiVersion: skupper.io/v2alpha1
kind: Connector
metadata: {name: a}
spec: {routingKey: a, host: a, port: 80}
`;

describe('without a running process', () => {
  it('a resource is written and not waited for', async () => {
    await using west = await Namespace.make();
    const created = await west.earshot(create);
    assert.deepEqual([created.code, created.out], [0, 'Listener "backend" is created.\n']);
    assert.match(created.err, /^No process runs the namespace west: start it with `earshot -n west run`/);
    assert.deepEqual(parse((await west.text('Listener-backend.yaml')) ?? ''), {
      apiVersion: 'skupper.io/v2alpha1',
      kind: 'Listener',
      metadata: { name: 'backend' },
      spec: { routingKey: 'backend', host: '127.0.0.1', port: 8080 },
    });
    assert.deepEqual(await readdir(west.layout.input.resources), ['Listener-backend.yaml']);
  });

  it('a file that cannot be written is named, with the reason and the remedy', async (t) => {
    await using west = await Namespace.make();
    const error = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    t.mock.method(realDisk, 'create', () => Promise.reject(error));
    const { code, err } = await west.earshot(create);
    assert.equal(code, 1);
    assert.match(err, /Listener-backend\.yaml cannot be written \(ENOSPC\): the disk is full; free some space\.\n$/);
  });

  it('status shows what is asked for', async () => {
    await using west = await Namespace.make();
    await west.earshot(create);
    const { out, err } = await west.earshot(['listener', 'status']);
    assert.match(out, /^NAME +ROUTING-KEY +PORT +HOST +STATUS\nbackend +backend +8080 +127\.0\.0\.1 +-\n$/);
    assert.match(err, /^No process runs/);
  });

  it('waits if an option asks for it, and says how it ended', async () => {
    await using west = await Namespace.make();
    const waited = await west.earshot([...create, '--wait', 'configured', '--timeout', '200ms']);
    assert.equal(waited.code, 3);
    assert.match(waited.err, /^Waiting for Listener "backend" to be configured\.\.\.\n.*no process runs the namespace west/s);
  });
});

describe('with a running process', () => {
  it('a listener is waited for until it is configured, and its message is passed on', async () => {
    await using west = await Namespace.make();
    await west.run();
    const created = west.earshot(create);
    await west.answer('Listener', 'backend', filled, configured);
    assert.deepEqual(await created.then(({ code, out }) => [code, out]), [0, 'Listener "backend" is configured.\n']);
    assert.match((await created).err, /It is Pending: no connector\n$/);
  });

  it('what was written back of an earlier spec does not count', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Listener', 'backend', { ...filled, port: 8081 }, { ...configured, status: 'Ready' });
    const created = await west.earshot([...create, '--timeout', '200ms']);
    assert.equal(created.code, 3);
    assert.match(created.err, /the site has not adopted the change/);
  });

  it('what is not ready in time ends with 3, what is an error with 1', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Listener', 'backend', filled, configured);
    const late = await west.earshot([...create, '--wait', 'ready', '--timeout', '150ms']);
    assert.equal(late.code, 3);
    assert.match(late.err, /Timed out after 0\.15 s, waiting for Listener "backend" to be ready: it is Pending: no connector/);
    await west.answer('Listener', 'backend', filled, { status: 'Error', message: 'port 8080 is in use' });
    const wrong = await west.earshot(['listener', 'update', 'backend', '--port', '8080', '--wait', 'ready', '--timeout', '150ms']);
    assert.equal(wrong.code, 1);
    assert.match(wrong.err, /it is Error: port 8080 is in use\.\n$/);
  });

  it('a deletion is waited for until nothing is written back any more', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.earshot([...create, '--wait', 'none']);
    await west.answer('Listener', 'backend', filled, configured);
    const gone = await west.earshot(['listener', 'delete', 'backend', '--timeout', '100ms']);
    assert.equal(gone.code, 3);
    assert.equal(await west.text('Listener-backend.yaml'), undefined);
  });

  it('-o gives what programs read', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Listener', 'backend', filled, configured);
    const one = await west.earshot(['listener', 'status', 'backend', '-o', 'json']);
    assert.deepEqual(JSON.parse(one.out).status, configured);
    const all = await west.earshot(['listener', 'status', '-o', 'yaml']);
    const list: { readonly kind: string; readonly items: readonly { readonly spec: object }[] } = parse(all.out);
    assert.deepEqual([list.kind, list.items.map(({ spec }) => spec)], ['List', [filled]]);
    assert.equal(all.err, '');
  });
});

describe('an edge site', () => {
  it('is not made or changed so that it lets others in', async () => {
    await using west = await Namespace.make();
    const both = await west.earshot(['site', 'create', 'west', '--edge', '--enable-link-access']);
    assert.deepEqual([both.code, both.err], [2, 'An edge site cannot accept links: use --no-enable-link-access or --no-edge.\n']);
    await west.earshot(['site', 'create', 'west', '--edge']);
    assert.equal((await west.earshot(['site', 'update', '--enable-link-access'])).code, 2);
    assert.equal((await west.earshot(['site', 'update', '--enable-link-access', '--no-edge'])).code, 0);
    assert.equal((await west.earshot(['site', 'update', '--edge'])).code, 2);
  });
});

describe('an edit', () => {
  const mine = `# my listeners
apiVersion: skupper.io/v2alpha1
kind: Listener
metadata:
  name: one
spec:
  routingKey: one # the key
  host: 127.0.0.1
  port: 8080
---
apiVersion: skupper.io/v2alpha1
kind: Listener
metadata:
  name: two
spec:
  routingKey: two
  host: 127.0.0.1
  port: 8081
`;

  it('changes a resource where it stands, and nothing else in the file', async () => {
    await using west = await Namespace.make();
    await west.put('mine.yaml', mine);
    assert.equal((await west.earshot(['listener', 'update', 'one', '--port', '9090'])).code, 0);
    assert.equal(await west.text('mine.yaml'), mine.replace('8080', '9090'));
    assert.deepEqual(await readdir(west.layout.input.resources), ['mine.yaml']);
  });

  it('removes one of several, and the file with the last', async () => {
    await using west = await Namespace.make();
    await west.put('mine.yaml', mine);
    await west.earshot(['listener', 'delete', 'two']);
    assert.equal(await west.text('mine.yaml'), mine.slice(0, mine.indexOf('---')));
    await west.earshot(['listener', 'delete', 'one']);
    assert.equal(await west.text('mine.yaml'), undefined);
  });

  it('takes an option back with an empty text', async () => {
    await using west = await Namespace.make();
    await west.earshot([...create, '--tls-credentials', 'web']);
    await west.earshot(['listener', 'update', 'backend', '--tls-credentials', '', '--routing-key', 'other']);
    assert.deepEqual(parse((await west.text('Listener-backend.yaml')) ?? '').spec, { routingKey: 'other', host: '127.0.0.1', port: 8080 });
  });

  it('without a host listens on all addresses here, and is named like a Service where it is for a cluster', async () => {
    await using west = await Namespace.make();
    await west.earshot(['listener', 'create', 'backend', '8080']);
    assert.equal(parse((await west.text('Listener-backend.yaml')) ?? '').spec.host, '0.0.0.0');
    assert.equal(parse((await west.earshot(['listener', 'generate', 'backend', '8080'])).out).spec.host, '0.0.0.0');
    const ofCluster = await west.earshot(['-p', 'kubernetes', 'listener', 'generate', 'backend', '8080']);
    assert.equal(parse(ofCluster.out).spec.host, 'backend');
    await west.earshot(['listener', 'update', 'backend', '--port', '8081']);
    assert.equal(parse((await west.text('Listener-backend.yaml')) ?? '').spec.host, '0.0.0.0');
  });

  it('makes nothing with a routing key that is reserved, and says so', async () => {
    await using west = await Namespace.make();
    const result = await west.earshot([...create, '--routing-key', 'earshot:x']);
    assert.equal(result.code, 2);
    assert.match(result.err, /must not begin with `earshot:`/);
    assert.equal(await west.text('Listener-backend.yaml'), undefined);
  });

  it('keeps settings that it does not name', async () => {
    await using west = await Namespace.make();
    await west.put('site.yaml', 'apiVersion: skupper.io/v2alpha1\nkind: Site\nmetadata: {name: west}\nspec: {settings: {size: small}}\n');
    await west.earshot(['site', 'update', '--grant-port', '9191', '--enable-link-access']);
    assert.deepEqual(parse((await west.text('site.yaml')) ?? '').spec, {
      linkAccess: 'default',
      settings: { size: 'small', 'grant-port': '9191' },
    });
    await west.earshot(['site', 'update', '--routers', '2', '--link-certificate-lifetime', '48h']);
    assert.deepEqual(parse((await west.text('site.yaml')) ?? '').spec.settings, {
      size: 'small',
      'grant-port': '9191',
      routers: '2',
      'link-certificate-lifetime': '48h',
    });
    assert.equal((await west.earshot(['site', 'update', '--link-certificate-lifetime', '5s'])).code, 2);
    assert.match((await west.earshot(['site', 'update', '--routers', '17'])).err, /It must be auto or a whole number from 1 to 16/);
  });

  it('does not write over a file that is no YAML', async () => {
    await using west = await Namespace.make();
    await west.put('Listener-backend.yaml', 'spec: [');
    const created = await west.earshot(create);
    assert.equal(created.code, 1);
    assert.match(created.err, /Listener-backend\.yaml is not YAML; correct or delete it/);
    assert.equal(await west.text('Listener-backend.yaml'), 'spec: [');
  });

  it('keeps what holds a code to its user', async () => {
    await using west = await Namespace.make();
    const grant = { apiVersion: 'skupper.io/v2alpha1', kind: 'AccessGrant', metadata: { name: 'east' }, spec: { code: 'abcdefgh' } };
    await west.earshot(['apply', '-f', '-'], JSON.stringify(grant));
    const { mode } = await stat(join(west.layout.input.resources, 'AccessGrant-east.yaml'));
    assert.equal(mode & 0o777, 0o600);
  });
});

describe('what cannot be done ends with a code and says what to do', () => {
  const cases: readonly (readonly [name: string, args: readonly string[], code: number, err: RegExp])[] = [
    ['an invalid name', ['listener', 'create', 'A', '80'], 2, /metadata\.name: must be lower-case letters/],
    ['a path for a name', ['connector', 'create', '../x', '80'], 2, /metadata\.name: must be/],
    ['port 0', ['listener', 'create', 'a', '0'], 2, /It must be a port number from 1 to 65535/],
    ['two ports', ['connector', 'create', 'a', '80,81'], 2, /It must be a port number from 1 to 65535/],
    ['an unknown option', ['listener', 'create', 'a', '80', '--colour', 'red'], 2, /unknown option '--colour'/],
    ['an unknown command', ['listen'], 2, /unknown command 'listen'.*Did you mean listener\?/s],
    ['pods without a cluster', ['connector', 'create', 'a', '80', '--selector', 'a=b'], 2, /Give the server with --host/],
    ['an invalid time', ['listener', 'delete', 'a', '--timeout', 'soon'], 2, /It must be a duration such as 30s/],
    ['what exists', ['listener', 'create', 'there', '80'], 5, /Listener "there" already exists, in input\/resources\/there\.yaml/],
    ['a second site', ['site', 'create', 'other'], 5, /already has a site: "west"/],
    ['a listener that is not there', ['listener', 'update', 'gone', '--port', '80'], 4, /Listener "gone" does not exist .*it has there\./],
    ['a connector that does not exist', ['connector', 'delete', 'gone'], 4, /it has no Connector\./],
    ['a status of nothing', ['link', 'status', 'gone'], 4, /Link "gone" does not exist/],
    ['a token of a site that does not run', ['token', 'issue', 'x.yaml'], 6, /^No process runs the namespace west/],
    ['a link of a site that does not run', ['link', 'generate'], 6, /^No process runs the namespace west/],
    ['a stop of nothing', ['system', 'stop'], 6, /No process runs the namespace west/],
    ['a network that was never seen', ['network'], 6, /^No process runs the namespace west/],
    ['a file that is not there', ['apply', '-f', '/nowhere.yaml'], 4, /The file \/nowhere\.yaml does not exist\.\n$/],
    ['a file below a file', ['apply', '-f', '/dev/null/a.yaml'], 1, /The file \/dev\/null\/a\.yaml cannot be read \(ENOTDIR\): .*\.\n$/],
    ['a token that is not there', ['token', 'redeem', '/nowhere.yaml'], 4, /The file \/nowhere\.yaml does not exist/],
    ['no file', ['apply'], 2, /required option '-f, --filename/],
  ];
  for (const [name, args, code, err] of cases) {
    it(name, async () => {
      await using west = await Namespace.make();
      const listener =
        'apiVersion: skupper.io/v2alpha1\nkind: Listener\nmetadata: {name: there}\nspec: {routingKey: a, host: a, port: 80}\n';
      await west.put('there.yaml', listener);
      await west.put('site.yaml', 'apiVersion: skupper.io/v2alpha1\nkind: Site\nmetadata: {name: west}\nspec: {}\n');
      const result = await west.earshot(args);
      assert.match(result.err, err);
      assert.equal(result.code, code);
      assert.deepEqual((await readdir(west.layout.input.resources)).toSorted(), ['site.yaml', 'there.yaml']);
    });
  }

  it('a namespace that is a path', async () => {
    await using west = await Namespace.make();
    const result = await west.earshot(['listener', 'create', 'a', '80', '-n', '../../etc']);
    assert.equal(result.code, 2);
    assert.match(result.err, /"\.\.\/\.\.\/etc" cannot be the name of a namespace/);
  });
});

describe('delete of several names', () => {
  for (const [kind, several] of [
    ['listener', 'listener'],
    ['connector', 'connector'],
    ['link', 'link'],
    ['token', 'accessgrant'],
  ] as const)
    it(`is refused by \`${kind} delete\`, which names the command for it`, async () => {
      await using west = await Namespace.make();
      const { code, err } = await west.earshot([kind, 'delete', 'a', 'b']);
      assert.equal(code, 2);
      assert.match(
        err,
        new RegExp(`Expected 1 argument but got 2: a, b\\.\n\\(for several names, use \`earshot delete ${several} NAME\\.\\.\\.\``),
      );
      assert.match((await west.earshot([kind, 'delete', '--help'])).out, new RegExp(`use \`earshot delete ${several} NAME`));
    });

  it('deletes those that exist, and names all others', async () => {
    await using west = await Namespace.make();
    for (const name of ['a', 'b']) await west.earshot(['listener', 'create', name, '80']);
    const { code, out, err } = await west.earshot(['delete', 'listener', 'a', 'x', 'b', 'y']);
    assert.deepEqual([code, out], [4, 'Listener "a" is deleted.\nListener "b" is deleted.\n']);
    assert.match(err, /Listener "x" does not exist.*\n.*Listener "y" does not exist/);
  });
});

describe('apply and delete', () => {
  it('put and take out what a file holds, without what others added', async () => {
    await using west = await Namespace.make();
    const put = await west.earshot(['apply', '-f', '-'], two);
    assert.deepEqual([put.code, put.out], [0, 'Listener "a" is created.\nConnector "a" is created.\n']);
    assert.match(put.err, /Warning: standard input:3:\d+: metadata\.namespace: /);
    const { metadata, status } = parse((await west.text('Listener-a.yaml')) ?? '');
    assert.deepEqual([metadata, status], [{ name: 'a' }, undefined]);
    const again = await west.earshot(['apply', '-f', '-'], two.replace('port: 80', 'port: 81'));
    assert.equal(again.out, 'Listener "a" is changed.\nConnector "a" is unchanged.\n');
    const gone = await west.earshot(['delete', '-f', '-'], two);
    assert.equal(gone.out, 'Listener "a" is deleted.\nConnector "a" is deleted.\n');
    assert.deepEqual(await readdir(west.layout.input.resources), []);
    assert.equal((await west.earshot(['delete', '-f', '-'], two)).code, 4);
    assert.equal((await west.earshot(['delete', '--ignore-not-found', '-f', '-'], two)).code, 0);
  });

  it('change nothing where one document is wrong, and name file, line and field', async () => {
    await using west = await Namespace.make();
    const wrong = await west.earshot(['apply', '-f', '-'], two.replaceAll('port: 80', 'port: 0'));
    assert.equal(wrong.code, 2);
    assert.match(
      wrong.err,
      /Nothing was changed:\n {2}standard input:4:\d+: spec\.port: must be .*, not 0\.\n {2}standard input:10:\d+: spec\.port: /,
    );
    assert.equal(await west.text('Listener-a.yaml'), undefined);
  });

  it('refuse a YAML bomb', async () => {
    await using west = await Namespace.make();
    const bomb = Array.from(
      { length: 12 },
      (_, level) => `a${level}: &a${level} [${Array.from({ length: 9 }, () => (level === 0 ? 'x' : `*a${level - 1}`)).join(', ')}]`,
    );
    const result = await west.earshot(['apply', '-f', '-'], `${bomb.join('\n')}\n`);
    assert.equal(result.code, 2);
    assert.match(result.err, /anchors, aliases/);
  });
});

describe('status of the whole and network', () => {
  const network = [
    {
      id: '1',
      name: 'west',
      namespace: 'west',
      platform: 'linux',
      version: '1',
      links: [],
      services: [{ routingKey: 'db', connectors: ['a', 'b'] }],
    },
    {
      id: '2',
      name: 'ea\u001B[2Jst',
      namespace: 'x',
      links: [{ name: 'l', remoteSiteName: 'west', operational: false }],
      services: [{ routingKey: 'db', listeners: ['c'] }],
    },
  ];

  it('show sites, links and keys, and nothing that steers a terminal', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Site', 'west', {}, { status: 'Ready', sitesInNetwork: 2, network });
    const { out } = await west.earshot(['network']);
    assert.equal(
      out,
      `west (linux, 1, namespace west, 1), this site
└─ key db: 2 connectors, 0 listeners
ea\\u{1b}[2Jst (namespace x, 2)
├─ link to west, down
└─ key db: 0 connectors, 1 listener

ROUTING-KEY   CONNECTORS-AT   LISTENERS-AT
db            west            ea\\u{1b}[2Jst
`,
    );
  });

  it('call nothing ready that no process runs, whatever was written last', async () => {
    await using west = await Namespace.make();
    await west.answer('Site', 'west', {}, { status: 'Ready', message: 'OK', sitesInNetwork: 2 });
    await west.answer('Listener', 'web', { routingKey: 'web', host: 'h', port: 1 }, { status: 'Ready', hasMatchingConnector: true });
    for (const args of [['status'], ['site', 'status', 'west'], ['listener', 'status', '-o', 'yaml']]) {
      const { out } = await west.earshot(args);
      assert.match(out, /Pending/, args.join(' '));
      assert.match(out, /no process runs the namespace west; start it with `earshot -n west run`/, args.join(' '));
      assert.doesNotMatch(out, /Ready\b(?!:)/, args.join(' '));
    }
    await west.answer('Listener', 'api', { routingKey: 'api', host: 'api', port: 8080 }, { status: 'Ready' });
    const waited = await west.earshot(['listener', 'create', 'api', '8080', '--host', 'api', '--wait', 'ready', '--timeout', '1s']);
    assert.equal(waited.code, 3, waited.err);
  });

  it('begin with what is missing first: a site, then a process that runs it', async () => {
    await using west = await Namespace.make();
    assert.match((await west.earshot(['status'])).err, /has no site yet: create one .*\nNo process runs the namespace west: start it/);
  });

  it('have no brackets for people to read', async () => {
    await using west = await Namespace.make();
    await west.run();
    const endpoints = [
      { name: 'inter-router', host: 'east.example', port: '55671' },
      { name: 'edge', host: 'east.example', port: '45671' },
    ];
    await west.answer('Link', 'east', { endpoints, settings: { size: 'small' } }, { status: 'Ready' });
    const { out } = await west.earshot(['link', 'status', 'east']);
    assert.match(out, /^Endpoints: +name inter-router, host east\.example, port 55671; name edge, host east\.example, port 45671$/m);
    assert.match(out, /^Settings: +size small$/m);
  });

  it('report errors in files', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Site', 'west', {}, { status: 'Ready', sitesInNetwork: 1 });
    await west.write(
      west.layout.runtime.problems,
      'problems: [{file: input/resources/a.yaml, line: 3, column: 7, severity: error, message: it is not YAML}]\n',
    );
    const { out } = await west.earshot(['status']);
    assert.match(out, /^Namespace: +west\n.*^Sites in network: +1$.*^ {2}input\/resources\/a\.yaml:3:7: it is not YAML$/ms);
  });

  it('take the List that `kubectl get -o yaml` prints for its items', async () => {
    await using west = await Namespace.make();
    const resource = (kind: string, name: string, spec: object) => ({
      apiVersion: 'skupper.io/v2alpha1',
      kind,
      metadata: { name, uid: 'x' },
      spec,
    });
    const list = (port: number) => ({
      apiVersion: 'v1',
      kind: 'List',
      metadata: { resourceVersion: '' },
      items: [
        resource('Listener', 'a', { routingKey: 'a', host: 'a', port }),
        resource('Connector', 'a', { routingKey: 'a', host: 'a', port: 80 }),
      ],
    });
    const put = await west.earshot(['apply', '-f', '-'], JSON.stringify(list(80)));
    assert.deepEqual([put.code, put.out], [0, 'Listener "a" is created.\nConnector "a" is created.\n']);
    const wrong = await west.earshot(['apply', '-f', '-'], JSON.stringify(list(0), null, 1));
    assert.match(wrong.err, /^ {2}standard input:18:\d+: spec\.port: must be .*, not 0\.$/m);
    const gone = await west.earshot(['delete', '-f', '-'], JSON.stringify(list(80)));
    assert.equal(gone.out, 'Listener "a" is deleted.\nConnector "a" is deleted.\n');
  });

  it('refuse what the site would refuse, before anything is written', async () => {
    await using west = await Namespace.make();
    for (const [change, expected] of [
      ['host: "[::1]"', /spec\.host: "\[::1\]" is neither .*; write ::1\./],
      ['host: 127.0.0.1:6379', /spec\.host: .*; write 127\.0\.0\.1, and the port in its own field\./],
      ['host: http://db', /spec\.host: .*; write db\./],
      ['host: a, type: udp', /spec\.type: "udp" is not supported; use tcp\./],
    ] as const) {
      const { code, err } = await west.earshot(['apply', '-f', '-'], two.replaceAll('host: a', change));
      assert.equal(code, 2);
      assert.match(err, expected);
      assert.equal(await west.text('Listener-a.yaml'), undefined);
    }
    const typed = await west.earshot(['connector', 'create', 'db', '5432', '--host', '[::1]']);
    assert.deepEqual(
      [typed.code, typed.err],
      [2, 'Connector "db": spec.host: "[::1]" is neither a host name nor an address; write ::1.\n'],
    );
  });

  it('name the kind and the field that were likely meant', async () => {
    await using west = await Namespace.make();
    const kind = await west.earshot(['apply', '-f', '-'], two.replace('Listener', 'Listner'));
    assert.match(kind.err, /kind: must be one of .*, not "Listner"; did you mean Listener\?\n/);
    const field = await west.earshot(['apply', '-f', '-'], two.replace('routingKey: a', 'routingKey: a, observr: none'));
    assert.match(field.err, /spec\.observr: is not known here and has no effect; did you mean observer\?\n/);
  });
});

describe('what create takes for granted', () => {
  for (const [words, expected] of [
    [['listener', 'create', 'db', '5432'], /accepts clients at 0\.0\.0\.0.*--host 127\.0\.0\.1/],
    [['connector', 'create', 'db', '5432'], /Its server is the host "localhost"\. .*--host/],
  ] as const) {
    it(`is printed: ${words.join(' ')}`, async () => {
      await using west = await Namespace.make();
      assert.match((await west.earshot(words)).err, expected);
      const given = await west.earshot([words[0], 'create', 'other', '5432', '--host', '127.0.0.1']);
      assert.doesNotMatch(given.err, expected);
    });
  }
});
