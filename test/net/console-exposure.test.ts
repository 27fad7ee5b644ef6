/** The Exposure view of the console in a real Chromium, over a cluster in memory. */
import assert from 'node:assert/strict';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'puppeteer-core';
import { loadPage } from '../../src/console/page-assets.ts';
import { serveConsole } from '../../src/console/server.ts';
import { explainContent, exposedObjects, listener } from '../unit/console/exposed-cluster.ts';
import { memorySources, memoryState, memoryWatcher, type MemoryState } from '../unit/console/memory-sources.ts';
import { findFaults, openPage, press, reach, see, startBrowser, textOf } from './harness/console-page.ts';

const VIEWS = [
  '#/',
  '#/exposure',
  '#/exposure?of=pods',
  '#/exposure?of=classes',
  '#/exposure?state=problem&q=nothing',
  '#/exposure/listeners/web',
  '#/exposure/listeners/shop',
  '#/exposure/pods/cache-0',
  '#/exposure/classes/outside',
  '#/exposure/listeners/none',
  '#/exposure/none/web',
] as const;

interface Opened extends AsyncDisposable {
  readonly state: MemoryState;
  readonly page: Page;
  /** Violations of the content security policy, and errors of scripts. */
  readonly faults: readonly string[];
  /** Reads the cluster and the site again. */
  read(): Promise<void>;
}

async function open(): Promise<Opened> {
  await using stack = new AsyncDisposableStack();
  const state = memoryState();
  const content = { objects: exposedObjects(), denied: ['events'] };
  state.cluster = content;
  const watcher = memoryWatcher(state);
  const read = async (): Promise<void> => {
    await watcher.readExposure();
    await watcher.read();
  };
  await read();
  const sources = { ...memorySources(state), explain: (kind: string, name: string) => explainContent(content, kind, name) };
  const server = stack.use(await serveConsole({ sources, watcher, assets: await loadPage(), port: 0, publicUrls: [] }));
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), 'earshot-console-')));
  const browser = await startBrowser(folder.path);
  stack.defer(() => browser.close());
  const faults: string[] = [];
  const page = await openPage(browser, faults);
  await page.goto(server.createLink());
  await see(page, 'Exposed Listeners');
  const owned = stack.move();
  return { state, page, faults, read, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

test('the Exposure view is without accessibility faults, sideways scrolling and violations of the policy', async () => {
  await using opened = await open();
  assert.deepEqual(await findFaults(opened.page, VIEWS), []);
  assert.deepEqual(opened.faults, []);
});

test('the keyboard alone leads from a problem in the overview to its steps, and from the list to a pod', async () => {
  await using opened = await open();
  const { page } = opened;
  await see(page, /listeners\.listeners\.stackable\.tech\/shop\s[^]*Did you mean outside/);
  // The last view.
  await page.keyboard.type(String(await page.evaluate(`document.querySelectorAll('nav a').length`)));
  await reach(page, '#/exposure');
  await see(page, '203.0.113.7');
  await press(page, 'j', 'j', 'Enter');
  await reach(page, '#/exposure/listeners/shop');
  await see(page, /Step by step[^]*ListenerClass outsied does not exist/);
  await press(page, 'Escape');
  await reach(page, '#/exposure');
  await page.evaluate(`location.hash = '#/exposure?of=pods'`);
  await see(page, 'cache-0');
  await press(page, '/');
  await page.keyboard.type('no address');
  await press(page, 'Escape');
  await see(page, '1 shown');
  await press(page, 'j', 'Enter');
  await reach(page, '#/exposure/pods/cache-0');
  await see(page, /Waits for[^]*Node n1 lists no address/i);
});

test('a list says what the user may not read, and the overview follows the cluster', async () => {
  await using opened = await open();
  const { page, state } = opened;
  await page.evaluate(`location.hash = '#/exposure'`);
  await see(page, 'Not everything is shown: you have no right to list events in the namespace shop.');
  await page.evaluate(`location.hash = '#/'`);
  await see(page, 'Pod/cache-0');
  state.cluster = { objects: { ...exposedObjects(), pods: [], listeners: [listener('alone', 'internal', [])] } };
  state.now += 1_000;
  await opened.read();
  await see(page, 'listeners.listeners.stackable.tech/alone');
  assert.doesNotMatch(await textOf(page), /cache-0/);
});
