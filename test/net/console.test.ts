/** The console in a real Chromium, over two linked sites. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Browser, Page } from 'puppeteer-core';
import { findFaults, openPage, press, reach, see, startBrowser, textOf } from './harness/console-page.ts';
import { eventually, manifest, startLinkedPair, startNginx, type Host, type LinkedPair, type Program } from './harness/index.ts';

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname;
const PORT = 8099;
const ORIGIN = `http://127.0.0.1:${PORT}`;
const VIEWS = [
  '#/',
  '#/network',
  '#/network?view=graph',
  '#/network?key=web',
  '#/network?view=graph&key=web',
  '#/services',
  '#/services/web',
  '#/connections',
  '#/connections?state=ended',
  '#/requests',
  '#/trust',
  '#/objects',
  '#/objects/Listener/web',
  '#/none',
] as const;

interface Opened extends AsyncDisposable {
  readonly pair: LinkedPair;
  readonly console: Program;
  readonly browser: Browser;
  readonly page: Page;
  readonly link: string;
  /** Violations of the content security policy, and errors of scripts. */
  readonly faults: readonly string[];
}

async function open(t: TestContext): Promise<Opened> {
  await using stack = new AsyncDisposableStack();
  const pair = stack.use(await startLinkedPair(t, { web: 8080 }));
  await startNginx(pair.server, { port: 8080 });
  await pair.ready();
  await pair.client.run(['curl', '-sS', 'http://127.0.0.1:8080/']);
  const program = await startConsole(pair);
  const browser = await startBrowserOn(pair.client);
  stack.defer(() => browser.close());
  const link = await linkOf(program);
  const faults: string[] = [];
  const page = await openPage(browser, faults);
  await page.goto(link);
  await see(page, 'Overview');
  const owned = stack.move();
  return { pair, console: program, browser, page, link, faults, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function startConsole({ client, west }: LinkedPair, ...options: readonly string[]): Promise<Program> {
  const argv = [process.execPath, MAIN, '-n', west.name, 'console', '--port', String(PORT), ...options];
  return client.spawn(argv, { name: 'console', env: { EARSHOT_HOME: west.home } });
}

async function linkOf(program: Program): Promise<string> {
  const found = await eventually('the link', () => /^http:\/\/\S+#t=\S+$/m.exec(program.output)?.[0]);
  return found;
}

/** The console listens on the loopback address of its host, so the browser runs there. */
async function startBrowserOn(host: Host): Promise<Browser> {
  return startBrowser(await host.folder('chromium'), `ip netns exec ${host.netns}`);
}

test('every view is without accessibility faults, sideways scrolling and violations of the policy, in light, dark and at 360 pixels', async (t) => {
  await using opened = await open(t);
  const { page, faults } = opened;
  assert.deepEqual(await findFaults(page, VIEWS), []);
  assert.deepEqual(faults, []);
});

test('a link opens one page, and other hosts are refused', async (t) => {
  await using opened = await open(t);
  const second = await openPage(opened.browser, []);
  await second.goto(opened.link);
  await see(second, 'Open the console with its link');
  assert.doesNotMatch(await textOf(second), /What is wrong/);
  const { client } = opened.pair;
  const status = (...args: readonly string[]): Promise<string> =>
    client.run(['curl', '-sS', '-o', '/dev/null', '-w', '%{http_code}', ...args, `${ORIGIN}/`]);
  assert.deepEqual([await status(), await status('-H', 'Host: evil')], ['200', '421']);
  assert.equal(
    (await client.attempt(['curl', '-sS', `http://${client.v4}:${PORT}/`])).code === 0,
    false,
    'only the loopback address listens',
  );
});

test('the network says why a site has no figures, and shows them once it shares them', async (t) => {
  await using opened = await open(t);
  const { page, pair, faults } = opened;
  await page.evaluate(`location.hash = '#/network'`);
  await see(page, 'No figures of 1 site: the site does not share them (settings.observe).');
  await page.evaluate(`[...document.querySelectorAll('main a.row-link')].find((link) => link.innerText === 'east').click()`);
  await see(page, 'No figures of this site.');
  await pair.east.apply(manifest('Site', 'east', { linkAccess: 'default', settings: { observe: 'network' } }));
  await see(page, /New connections\s+0\/s/);
  assert.deepEqual(await findFaults(page, [String(await page.evaluate('location.hash'))]), []);
  await page.evaluate(`location.hash = '#/network'`);
  await see(page, /east\s+0\/s/);
  assert.doesNotMatch(await textOf(page), /No figures/);
  assert.deepEqual(faults, []);
});

test('a link has a page with its figures, and the network shows its bytes a second', async (t) => {
  await using opened = await open(t);
  const { page, faults } = opened;
  await page.evaluate(`location.hash = '#/network'`);
  // The second sample comes after five seconds.
  await see(page, /up\s+east\s+1\s+[\d.]+ ms\s+[\d.]+ K?B\/s/);
  const target = String(await page.evaluate(`document.querySelector('main a.row-link').getAttribute('href')`));
  assert.match(target, /^#\/objects\/Link\//);
  await page.evaluate(`location.hash = ${JSON.stringify(target)}`);
  await see(page, /Sent\s+[\d.]+ K?B\/s\s+Received\s+[\d.]+ K?B\/s/);
  const own = target.replace(/^#\/objects\/Link\//, '#/network/link/out%2F');
  assert.deepEqual(await findFaults(page, [target, own]), []);
  await see(page, 'west – east');
  assert.deepEqual(faults, []);
});

test('the paths of a routing key are drawn, and listed with their cost', async (t) => {
  await using opened = await open(t);
  const { page } = opened;
  await page.evaluate(`location.hash = '#/services/web'`);
  await see(page, 'Paths of web in the network');
  await page.evaluate(`[...document.querySelectorAll('a')].find((link) => link.innerText === 'Paths of web in the network').click()`);
  await see(page, /west\s+east\s+1\s+west → east/);
  const drawn = await eventually('the drawn path', async () => {
    const found = await page.evaluate(
      `[document.querySelectorAll('line.path').length, [...document.querySelectorAll('.role')].map((role) => role.textContent)]`,
    );
    // The expression gives this type.
    const [lines, roles] = found as readonly [number, readonly string[]];
    return lines > 0 && roles.length > 0 ? { lines, roles: roles.toSorted() } : undefined;
  });
  assert.deepEqual(drawn, { lines: 1, roles: ['connector', 'listener'] });
});

test('a connection has a page with its requests', async (t) => {
  await using opened = await open(t);
  const { page, faults } = opened;
  await page.evaluate(`location.hash = '#/connections?state=ended'`);
  await see(page, 'orderly');
  await press(page, 'j', 'Enter');
  await see(page, /GET\s+●?\s*200/);
  await see(page, 'Step by step');
  assert.deepEqual(await findFaults(page, [String(await page.evaluate('location.hash'))]), []);
  assert.deepEqual(faults, []);
});

test('a console with a history file shows the past after its restart', async (t) => {
  await using stack = new AsyncDisposableStack();
  const pair = stack.use(await startLinkedPair(t, { web: 8080 }));
  await startNginx(pair.server, { port: 8080 });
  await pair.ready();
  const { client } = pair;
  const file = `${await client.folder('console')}/history`;
  const browser = await startBrowserOn(client);
  stack.defer(() => browser.close());
  const opened = async (page: Page): Promise<number> => {
    const asked = `fetch('api/v1/series?of=key:web:opened&step=900&from=0', { headers: { authorization: 'Bearer ' + sessionStorage.getItem('earshot-bearer') } })`;
    const points = await page.evaluate(
      `${asked}.then((response) => response.json()).then(({ points }) => points.map(([, value]) => value))`,
    );
    // The API gives this type.
    return (points as readonly (number | null)[]).reduce<number>((sum, value) => sum + (value ?? 0), 0);
  };
  const show = async (program: Program): Promise<Page> => {
    const page = await openPage(browser, []);
    await page.goto(await linkOf(program));
    // The page is there before the link has become a session.
    await page.waitForFunction("sessionStorage.getItem('earshot-bearer') !== null");
    return page;
  };
  const first = await startConsole(pair, '--history', file);
  const before = await show(first);
  const counted = await eventually('a connection in the history', async () => {
    await client.run(['curl', '-sS', 'http://127.0.0.1:8080/']);
    return (await opened(before)) || undefined;
  });
  await first.stop();
  const after = await show(await startConsole(pair, '--history', file));
  assert.ok((await opened(after)) >= counted);
  const second = await client.attempt([process.execPath, MAIN, '-n', pair.west.name, 'console', '--history', file], {
    env: { EARSHOT_HOME: pair.west.home },
  });
  assert.match(second.stderr, /history cannot be used: another console uses it\. Stop that console/);
});

test('a console service prints no link, and the command opens the page', async (t) => {
  await using stack = new AsyncDisposableStack();
  const pair = stack.use(await startLinkedPair(t, { web: 8080 }));
  const { client, west } = pair;
  const env = { EARSHOT_HOME: west.home };
  const program = await client.spawn([process.execPath, MAIN, '-n', west.name, 'console', '--service'], { name: 'console', env });
  const command = [process.execPath, MAIN, '-n', west.name, 'console', 'link'];
  const link = await eventually('a link', () => client.run(command, { env }));
  const browser = await startBrowserOn(client);
  stack.defer(() => browser.close());
  const page = await openPage(browser, []);
  await page.goto(link.trim());
  await see(page, 'Overview');
  assert.doesNotMatch(program.output, /#t=/);
});

test('a cut link becomes a problem within seconds, and goes away when it is back', async (t) => {
  await using opened = await open(t);
  const { page, pair } = opened;
  await see(page, 'Nothing is wrong.');
  await pair.server.cut();
  // A link counts as silent after 2 s, and the console asks each second. After 30 s, the link ends.
  await see(page, /Link\/\S+\s[^]*no longer answers/, 25_000);
  await pair.server.restore();
  await see(page, 'Nothing is wrong.', 60_000);
});

test('the page says how old its data is while the console is gone, and is live again after its restart with a new link', async (t) => {
  await using opened = await open(t);
  const { page, console: program, pair } = opened;
  await program.stop();
  await see(page, 'The console does not answer.');
  assert.equal(await page.evaluate(`document.querySelector('main').classList.contains('old')`), true);
  const again = await startConsole(pair);
  await page.goto(await linkOf(again));
  await see(page, 'Live');
});

test('the keyboard alone leads to the reason why a connection fails', async (t) => {
  await using opened = await open(t);
  const { page, pair } = opened;
  await pair.east.remove('Connector', 'web');
  // Only the problem has the message: the list of changes names the Listener too.
  await see(page, /no connector of routing key "web"/);
  await press(page, 'j', 'Enter');
  await reach(page, '#/objects/Listener/web');
  await see(page, 'Step by step');
  await press(page, 'Escape');
  await reach(page, '#/objects');
  await press(page, 'Escape');
  await reach(page, '#/');
  await press(page, '/');
  await page.keyboard.type('web');
  await press(page, 'Enter');
  await reach(page, '#/objects?q=web');
  await press(page, '3');
  await see(page, 'Routing keys');
  await press(page, 'j', 'Enter');
  await reach(page, '#/services/web');
  await see(page, 'No site has a connector for web.');
  await press(page, '?');
  await see(page, 'search or filter');
  await press(page, 'Escape');
  assert.equal(await page.evaluate(`document.querySelector('dialog').open`), false);
});
