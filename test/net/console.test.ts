/** The console in a real Chromium, over two linked sites. */
import axe from 'axe-core';
import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import puppeteer, { type Browser, type KeyInput, type Page } from 'puppeteer-core';
import { eventually, startLinkedPair, startNginx, type Host, type LinkedPair, type Program } from './harness/index.ts';

const MAIN = new URL('../../src/cli/main.ts', import.meta.url).pathname;
const PORT = 8099;
const ORIGIN = `http://127.0.0.1:${PORT}`;
const VIEWS = [
  '#/',
  '#/network',
  '#/network?view=graph',
  '#/services',
  '#/services/web',
  '#/connections',
  '#/connections?state=ended',
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
  const browser = await startBrowser(pair.client);
  stack.defer(() => browser.close());
  const link = await linkOf(program);
  const faults: string[] = [];
  const page = await openPage(browser, faults);
  await page.goto(link);
  await see(page, 'Overview');
  const owned = stack.move();
  return { pair, console: program, browser, page, link, faults, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function startConsole({ client, west }: LinkedPair): Promise<Program> {
  const argv = [process.execPath, MAIN, '-n', west.name, 'console', '--port', String(PORT)];
  return client.spawn(argv, { name: 'console', env: { EARSHOT_HOME: west.home } });
}

async function linkOf(program: Program): Promise<string> {
  const found = await eventually('the link', () => /^http:\/\/\S+#t=\S+$/m.exec(program.output)?.[0]);
  return found;
}

/** The console listens on the loopback address of its host, so the browser runs there. Its commands and answers go through pipes. */
async function startBrowser(host: Host): Promise<Browser> {
  const folder = await host.folder('chromium');
  const executablePath = `${folder}/run`;
  await writeFile(executablePath, `#!/bin/sh\nexec ip netns exec ${host.netns} chromium "$@"\n`);
  await chmod(executablePath, 0o755);
  const args = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
  return puppeteer.launch({ executablePath, pipe: true, args, userDataDir: `${folder}/profile` });
}

async function openPage(browser: Browser, faults: string[]): Promise<Page> {
  const page = await browser.newPage();
  page.on('pageerror', (error) => void faults.push(String(error)));
  page.on('console', (message) => void (message.text().startsWith('CSP ') && faults.push(message.text())));
  await page.evaluateOnNewDocument(
    `document.addEventListener('securitypolicyviolation', (event) => console.log('CSP ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample))`,
  );
  return page;
}

const textOf = async (page: Page): Promise<string> => String(await page.evaluate('document.body.innerText'));

async function see(page: Page, text: string | RegExp, timeoutMs = 20_000): Promise<string> {
  return eventually(
    `${String(text)} on the page`,
    async () => {
      const shown = await textOf(page);
      if (typeof text === 'string' ? shown.includes(text) : text.test(shown)) return shown;
      throw new Error(shown.slice(0, 1_000));
    },
    { timeoutMs },
  );
}

async function reach(page: Page, hash: string): Promise<void> {
  await eventually(
    `the view ${hash}`,
    async () => {
      const now = String(await page.evaluate('location.hash'));
      if (now !== hash) throw new Error(`${now}: ${(await textOf(page)).slice(0, 500)}`);
      return true;
    },
    { timeoutMs: 10_000 },
  );
}

/** Shows a view, and waits until it has read what it needs. */
async function show(page: Page, view: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(view)}`);
  await eventually(
    `the view ${view}`,
    async () => (await page.evaluate(`document.querySelector('main')?.innerText.includes('…') === false`)) === true,
  );
}

test('every view is without accessibility faults, sideways scrolling and violations of the policy, in light, dark and at 360 pixels', async (t) => {
  await using opened = await open(t);
  const { page, faults } = opened;
  await page.evaluate(axe.source);
  const found: string[] = [];
  for (const [scheme, width] of [
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
  ] as const) {
    await page.setViewport({ width, height: 800 });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    for (const view of VIEWS) {
      await show(page, view);
      const violations = await page.evaluate(
        `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then(({ violations }) =>
          violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html.slice(0, 200) + ' ' + failureSummary).join('; ')))`,
      );
      // The expression gives a list of texts.
      found.push(...(violations as readonly string[]).map((each) => `${view} ${scheme} ${width}: ${each}`));
      const beyond = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      if (Number(beyond) > 0) found.push(`${view} ${scheme} ${width}: ${String(beyond)} pixels beyond the screen`);
    }
  }
  assert.deepEqual(found, []);
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

test('a cut link becomes a problem within seconds, and goes away when it is back', async (t) => {
  await using opened = await open(t);
  const { page, pair } = opened;
  await see(page, 'Nothing is wrong.');
  await pair.server.cut();
  // A link counts as silent after 2 s, and the console asks each second.
  await see(page, /Link\/\S+\s[^]*no longer answers/, 6_000);
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
  await page.goto('about:blank');
  await page.goto(await linkOf(again));
  await see(page, 'Live');
});

test('the keyboard alone leads to the reason why a connection fails', async (t) => {
  await using opened = await open(t);
  const { page, pair } = opened;
  await pair.east.remove('Connector', 'web');
  // Only the problem has the message: the list of changes names the Listener too.
  await see(page, /no connector of routing key "web"/);
  const press = async (...keys: readonly KeyInput[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await press('j', 'Enter');
  await reach(page, '#/objects/Listener/web');
  await see(page, 'Step by step');
  await press('Escape');
  await reach(page, '#/objects');
  await press('Escape');
  await reach(page, '#/');
  await press('/');
  await page.keyboard.type('web');
  await press('Enter');
  await reach(page, '#/objects?q=web');
  await press('3');
  await see(page, 'Routing keys');
  await press('j', 'Enter');
  await reach(page, '#/services/web');
  await see(page, 'No site has a connector for web.');
  await press('?');
  await see(page, 'search or filter');
  await press('Escape');
  assert.equal(await page.evaluate(`document.querySelector('dialog').open`), false);
});
