/** The console for users with passwords. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { suite, test } from 'node:test';
import { PasswordAccess } from '../../../src/console/password-access.ts';
import { parsePasswordFile } from '../../../src/text/password-file.ts';
import { serveConsole } from '../../../src/console/server.ts';
import { limitTable } from '../../../src/limits/table.ts';
import { memorySources, memoryState, memoryWatcher } from './memory-sources.ts';

const sha1 = (value: string): Buffer => createHash('sha1').update(value).digest();
const basic = (user: string, password: string): string => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

suite('a password file', () => {
  const salted = Buffer.concat([sha1('pass:wordsalt'), Buffer.from('salt')]).toString('base64');
  const cases: readonly (readonly [line: string, what: string])[] = [
    ['ann:{PLAIN}pass:word', 'as plain text'],
    [`ann:{SHA}${sha1('pass:word').toString('base64')}`, 'as a hash'],
    [`ann:{SSHA}${salted}`, 'as a salted hash'],
    ['# a comment\n\nann:{PLAIN}pass:word\r\nann:{PLAIN}other', 'in the first line of the user'],
  ];
  for (const [content, what] of cases) {
    test(`has the password ${what}`, () => {
      const { users, unsupported } = parsePasswordFile(content);
      const given = ['pass:word', 'pass:wor', '', 'other'].map((password) => users.get('ann')?.(password));
      assert.deepEqual([given, unsupported], [[true, false, false, false], 0]);
    });
  }

  test('counts lines that it cannot use', () => {
    const lines = ['ann:$2y$05$abc', 'ann', ':{PLAIN}x', 'ann:{PLAIN}', 'ann:{SHA}AAAA', 'ann:x', `ann:{SHA}${salted}`];
    const { users, unsupported } = parsePasswordFile(lines.join('\n'));
    assert.deepEqual([users.size, unsupported], [0, lines.length]);
  });
});

async function open(content = 'ann:{PLAIN}pass:word') {
  const state = memoryState();
  const watcher = memoryWatcher(state);
  await watcher.read();
  const users = new PasswordAccess(parsePasswordFile(content));
  const assets = [{ path: 'index.html', type: 'text/html', gzip: gzipSync('<p>page</p>') }];
  const server = await serveConsole({ sources: memorySources(state), watcher, assets, port: 0, publicUrls: [], users });
  return {
    users,
    async ask(path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') {
      const asked = request({ host: '127.0.0.1', port: server.port, path, method, headers, agent: false });
      asked.end(method === 'POST' ? JSON.stringify({ kind: 'Listener', name: 'web' }) : undefined);
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      return { status: response.statusCode ?? 0, realm: response.headers['www-authenticate'], body: await text(response) };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const OVERVIEW = '/api/v1/overview';

suite('the console for users with passwords', () => {
  const cases: readonly (readonly [what: string, authorization: string | undefined, status: number])[] = [
    ['the password', basic('ann', 'pass:word'), 200],
    ['another password', basic('ann', 'password'), 401],
    ['an unknown user', basic('bob', 'pass:word'), 401],
    ['no password', undefined, 401],
    ['text that is not encoded', 'Basic ann:pass:word', 401],
    ['credentials without a colon', `Basic ${Buffer.from('ann').toString('base64')}`, 401],
    ['a bearer token', 'Bearer ann', 401],
  ];
  for (const [what, authorization, status] of cases) {
    test(`answers ${status} to ${what}`, async () => {
      await using console = await open();
      assert.equal((await console.ask(OVERVIEW, authorization === undefined ? {} : { authorization })).status, status);
    });
  }

  test('asks the browser for a password, and serves the page without one', async () => {
    await using console = await open();
    const { status, realm } = await console.ask(OVERVIEW);
    assert.deepEqual([status, realm], [401, 'Basic realm="Earshot", charset="UTF-8"']);
    assert.equal((await console.ask('/')).status, 200);
  });

  test('has the name of any proxy, and refuses requests from pages of other names', async () => {
    await using console = await open();
    const authorization = basic('ann', 'pass:word');
    const statusWith = async (headers: Readonly<Record<string, string>>, method?: string): Promise<number> =>
      (await console.ask(method === 'POST' ? '/api/v1/probe' : OVERVIEW, { authorization, host: 'console.example', ...headers }, method))
        .status;
    assert.equal(await statusWith({}), 200);
    assert.equal(await statusWith({ origin: 'https://console.example' }), 200);
    assert.equal(await statusWith({ origin: 'http://console.example' }), 200);
    assert.equal(await statusWith({ origin: 'http://console.example', 'x-forwarded-proto': 'https' }), 403);
    assert.equal(await statusWith({ origin: 'https://evil.example' }, 'POST'), 403);
    assert.equal(await statusWith({ origin: 'null' }, 'POST'), 403);
  });

  test('refuses what a page of another site requests with the password of its visitor', async () => {
    await using console = await open();
    const statusWith = async (site: string, path = OVERVIEW): Promise<number> =>
      (await console.ask(path, { authorization: basic('ann', 'pass:word'), 'sec-fetch-site': site })).status;
    const sites = ['cross-site', 'same-site', 'same-origin', 'none'];
    assert.deepEqual(await Promise.all(sites.map((site) => statusWith(site))), [403, 403, 200, 200]);
    assert.equal(await statusWith('cross-site', '/'), 200, 'a link of another site opens the page');
  });

  test('counts a user once, whatever form of Base64 its client sends', async () => {
    const users = new PasswordAccess(parsePasswordFile('ann:{PLAIN}pass:word\nbob:{PLAIN}word'));
    const admit = (authorization: string): ReturnType<PasswordAccess['admit']> =>
      users.admit({ authorization, address: '192.0.2.1', now: 0 });
    const forms = ['', '=', '=='].map((end) => `${basic('bob', 'word').replace(/=+$/, '')}${end}`);
    const { burst } = limitTable.consoleAttemptsOfAddress.value;
    for (const form of forms) assert.ok(typeof (await admit(form)) === 'object');
    for (let at = 1; at < burst; at += 1) assert.equal(await admit(basic('ann', `${at}`)), undefined);
    assert.equal(await admit(basic('ann', 'last')), 'busy');
  });

  test('has no sessions by link', async () => {
    await using console = await open();
    assert.equal((await console.ask('/api/v1/session', {}, 'POST')).status, 401);
    assert.equal((await console.ask('/api/v1/session', { authorization: basic('ann', 'pass:word') }, 'POST')).status, 405);
  });

  test('stays open for a user while clients try passwords', async () => {
    await using console = await open();
    const admitted = { authorization: basic('ann', 'pass:word') };
    assert.equal((await console.ask(OVERVIEW, admitted)).status, 200);
    const { burst } = limitTable.consoleAttemptsOfAddress.value;
    const attempt = (password: string, address: string): ReturnType<PasswordAccess['admit']> =>
      console.users.admit({ authorization: basic('ann', password), address, now: Date.now() });
    const tried = await Promise.all(Array.from({ length: burst + 1 }, (_, at) => attempt(`${at}`, '127.0.0.1')));
    assert.ok(tried.includes('busy'));
    assert.equal((await console.ask(OVERVIEW, admitted)).status, 200);
    assert.equal(await attempt('another', '192.0.2.1'), undefined, 'another address may try');
    console.users.replaceFile(parsePasswordFile('ann:{PLAIN}new'));
    assert.equal(await attempt('pass:word', '127.0.0.1'), undefined, 'a stream of an old password ends nevertheless');
  });

  test('signs a user out whose password changed', async () => {
    await using console = await open();
    const headers = { authorization: basic('ann', 'pass:word') };
    assert.equal((await console.ask(OVERVIEW, headers)).status, 200);
    console.users.replaceFile(parsePasswordFile('ann:{PLAIN}new'));
    assert.equal((await console.ask(OVERVIEW, headers)).status, 401);
    assert.equal((await console.ask(OVERVIEW, { authorization: basic('ann', 'new') })).status, 200);
  });
});
