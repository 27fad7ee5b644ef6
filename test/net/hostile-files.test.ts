/** A namespace's directory with unexpected content, below a router that carries traffic all the while. */
import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { run } from '../harness/command.ts';
import {
  connector,
  createNetwork,
  eventually,
  listener,
  manifest,
  startNginx,
  startSite,
  type Host,
  type Site,
  type Status,
} from './harness/index.ts';

interface Place extends AsyncDisposable {
  readonly host: Host;
  readonly site: Site;
  /** A file below `input/resources`. */
  readonly at: (name: string) => string;
  readonly served: () => Promise<void>;
}

async function place(t: TestContext): Promise<Place> {
  await using stack = new AsyncDisposableStack();
  const net = stack.use(await createNetwork({ hosts: ['west'], test: t }));
  const host = net.host('west');
  await startNginx(host, { port: 80 });
  const site = await startSite(host, { resources: [connector('web', '127.0.0.1', 80), listener('web', '127.0.0.1', 8080)] });
  await site.waitFor('Listener', 'web');
  const owned = stack.move();
  return {
    host,
    site,
    at: (name) => join(site.layout.input.resources, name),
    served: async () => assert.equal(await host.run(['curl', '-sS', '--max-time', '20', 'http://127.0.0.1:8080/']), 'hello from west\n'),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Waits until the site's own file of problems says so much of it. */
const problem = (site: Site, of: RegExp): Promise<string> =>
  eventually(`a problem like ${of.source}`, async () => {
    const text = await readFile(site.layout.runtime.problems, 'utf8').catch(() => '');
    if (!of.test(text)) throw new Error(text === '' ? 'there are no problems' : text.slice(0, 3_000));
    return text;
  });

/** All names below a directory, with what links lead to. */
const namesBelow = async (directory: string): Promise<readonly string[]> => (await readdir(directory, { recursive: true })).sort();

test('a file that is not a resource is named in the problems and the log, and stops nothing else', async (t) => {
  await using west = await place(t);
  const { site, at } = west;
  const laughs = [...'bcdefghij'].map((key, index, all) => `${key}: &${key} [${`*${all[index - 1] ?? 'a'},`.repeat(9)}]\n`).join('');
  await writeFile(at('laughs.yaml'), `a: &a [x,x]\n${laughs}`);
  await writeFile(at('deep.yaml'), '['.repeat(200_000));
  await writeFile(at('large.yaml'), `a: ${'x'.repeat(1_000_000)}\n`);
  await writeFile(at('bytes.yaml'), Buffer.from('c3280000ff', 'hex'));
  await mkdir(at('directory.yaml'));
  await run('mkfifo', [at('pipe.yaml')]);
  await symlink('/dev/zero', at('zero.yaml'));
  await symlink('/etc/passwd', at('outside.yaml'));
  await symlink(at('circle.yaml'), at('circle.yaml'));
  await symlink('/nowhere', at('dangling.yaml'));
  for (const [name, words] of Object.entries({
    laughs: /laughs\.yaml/,
    deep: /deep\.yaml[^]*brackets/,
    large: /large\.yaml[^]*bytes/,
    bytes: /bytes\.yaml[^]*UTF-8/,
    directory: /directory\.yaml[^]*is a directory/,
    pipe: /pipe\.yaml[^]*not a regular file/,
    zero: /zero\.yaml/,
    outside: /outside\.yaml[^]*outside/,
    circle: /circle\.yaml/,
    dangling: /dangling\.yaml[^]*link to a file that does not exist/,
  })) {
    const text = await problem(site, words);
    assert.doesNotMatch(text, /root:x/, "a symbolic link's target is not shown");
    await eventually(`the log to name ${name}`, () => site.process.output.includes(`${name}.yaml`));
  }
  await west.served();
  await site.apply(listener('more', '127.0.0.1', 8081, { routingKey: 'web' }));
  await site.waitFor('Listener', 'more');
  await west.served();
});

test('hostile strings in any field lead to a problem, to no file elsewhere, and to no word that a terminal obeys', async (t) => {
  await using west = await place(t);
  const { site, host } = west;
  const hostile = [
    '../../../outside',
    '/tmp/earshot-outside',
    '\u001b[2Jx',
    'a\nb',
    '\0',
    '__proto__',
    'constructor',
    '\u202eabc',
    'x'.repeat(400_000),
    'é'.repeat(300),
    '',
  ];
  // Once it answers, nginx has made all its files.
  await west.served();
  const before = await namesBelow(host.dir);
  const fields: readonly ((text: string) => object)[] = [
    (text) => ({ ...listener('web2', '127.0.0.1', 9000), metadata: { name: text } }),
    (text) => listener('web3', text, 9001),
    (text) => listener('web4', '127.0.0.1', 9002, { routingKey: text }),
    (text) => listener('web5', '127.0.0.1', 9003, { tlsCredentials: text }),
    (text) => connector('web6', text, 9004),
    (text) => connector('web7', '127.0.0.1', 9005, { tlsCredentials: text }),
    (text) => manifest('Link', 'link8', { endpoints: [{ name: text, host: text, port: text }], tlsCredentials: text }),
    (text) => manifest('AccessToken', 'token9', { url: text, code: text, ca: text }),
    (text) => manifest('AccessGrant', 'grant10', { redemptionsAllowed: 1, expirationWindow: text, code: text, issuer: text }),
    (text) => manifest('Certificate', 'certificate11', { ca: text, subject: text, hosts: [text] }),
    (text) =>
      manifest('RouterAccess', 'access12', {
        roles: [{ name: text, port: 9006 }],
        bindHost: text,
        tlsCredentials: text,
        issuer: text,
        subjectAlternativeNames: [text],
      }),
    (text) => ({ ...listener('web13', '127.0.0.1', 9007), kind: text }),
    (text) => ({ ...listener('web14', '127.0.0.1', 9008), [text]: { polluted: text } }),
  ];
  for (const [at, text] of hostile.entries()) {
    for (const [index, field] of fields.entries()) await site.write(`hostile-${at}-${index}.yaml`, JSON.stringify(field(text)));
  }
  await problem(site, /hostile-0-0\.yaml[^]*hostile-10-0\.yaml/);
  await site.apply(listener('more', '127.0.0.1', 8081, { routingKey: 'web' }));
  await site.waitFor('Listener', 'more', 'Ready', { timeoutMs: 20_000 });
  await west.served();
  const shown = `${await readFile(site.layout.runtime.problems, 'utf8')}${site.process.output}`;
  // eslint-disable-next-line no-control-regex -- that is what must not be there
  assert.doesNotMatch(shown, /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]/, 'control characters are shown');
  assert.ok(shown.length < 2_000_000, `${shown.length} characters are shown`);
  const after = await namesBelow(host.dir);
  const created = after.filter(
    (name) => !before.includes(name) && !/^home\/namespaces\/west\/(input|internal|runtime)(\/|$)|\.log$/.test(name),
  );
  assert.deepEqual(created, [], 'nothing is written elsewhere');
  // A draft, whose name begins with a dot, is there only until it is renamed.
  await eventually('nothing but statuses with names of ours', async () => {
    const runtime = await readdir(site.layout.runtime.resources);
    assert.ok(
      runtime.every((name) => /^[A-Za-z]+-[a-z0-9][-a-z0-9.]*\.yaml$/.test(name)),
      runtime.join(' '),
    );
    return true;
  });
  const { stdout, stderr, code } = await site.attempt(['status']);
  assert.equal(code, 0, stderr);
  // eslint-disable-next-line no-control-regex -- the same
  assert.doesNotMatch(stdout + stderr, /[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
});

test('bundles that are no files, or may not be read, are named at the resources that want them', async (t) => {
  await using west = await place(t);
  const { site } = west;
  const bundles = ['directory', 'pipe', 'zero', 'circle', 'mangled', 'empty'] as const;
  for (const [at, bundle] of bundles.entries()) {
    const directory = join(site.layout.input.certs, bundle);
    await mkdir(directory, { recursive: true });
    const key = join(directory, 'tls.key');
    await writeFile(join(directory, 'tls.crt'), bundle === 'empty' ? '' : '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    if (bundle === 'directory') await mkdir(key);
    else if (bundle === 'pipe') await run('mkfifo', [key]);
    else if (bundle === 'zero') await symlink('/dev/zero', key);
    else if (bundle === 'circle') await symlink(key, key);
    else await writeFile(key, bundle === 'empty' ? '' : 'no key');
    await site.apply(listener(bundle, '127.0.0.1', 9100 + at, { routingKey: 'web', tlsCredentials: bundle }));
  }
  for (const bundle of bundles) {
    // A listener may be read before its bundle, and first report that the bundle does not exist.
    const isNamed = ({ status, message = '' }: Status): boolean =>
      status === 'Error' && /tls\.(key|crt)|cannot be read/.test(message) && !/TLS bundle .* does not exist/.test(message);
    const { message = '' } = await site.waitFor('Listener', bundle, isNamed);
    assert.ok(message.length < 1_000);
  }
  await west.served();
});

test('files that the user may not read are named, and the rest is read', async (t) => {
  await using west = await place(t);
  const { site, host, at } = west;
  await site.stop();
  await site.apply(listener('secret', '127.0.0.1', 9200, { routingKey: 'web' }));
  await chmod(at('Listener-secret.yaml'), 0);
  const directory = join(site.layout.input.certs, 'closed');
  await mkdir(directory);
  await writeFile(join(directory, 'tls.crt'), 'x', { mode: 0 });
  await site.apply(listener('closed', '127.0.0.1', 9201, { routingKey: 'web', tlsCredentials: 'closed' }));
  // Root may read everything, but for this.
  const lowered = ['setpriv', '--bounding-set=-dac_override,-dac_read_search', '--inh-caps=-dac_override,-dac_read_search'];
  await host.spawn([...lowered, process.execPath, 'src/cli/main.ts', '-n', 'west', 'run', '--router', 'router', '--http-port', '0'], {
    env: { EARSHOT_HOME: site.home },
    cwd: process.cwd(),
    name: 'lowered',
  });
  await problem(site, /Listener-secret\.yaml[^]*must be allowed to read it/);
  const { message = '' } = await site.waitFor('Listener', 'closed', 'Error', { timeoutMs: 20_000 });
  assert.match(message, /closed/);
  await site.waitFor('Listener', 'web');
  await west.served();
});
