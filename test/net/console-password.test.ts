/** Signing in to a console with passwords in a real Chromium, whose dialog asks for them. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Credentials, Page } from 'puppeteer-core';
import { loadPage } from '../../src/console/page-assets.ts';
import { PasswordAccess } from '../../src/console/password-access.ts';
import { parsePasswordFile } from '../../src/text/password-file.ts';
import { serveConsole } from '../../src/console/server.ts';
import { memorySources, memoryState, memoryWatcher } from '../unit/console/memory-sources.ts';
import { openPage, see, startBrowser } from './harness/console-page.ts';

async function open(credentials: Credentials): Promise<AsyncDisposable & { readonly page: Page; readonly faults: readonly string[] }> {
  await using stack = new AsyncDisposableStack();
  const state = memoryState();
  const watcher = memoryWatcher(state);
  await watcher.read();
  const users = new PasswordAccess(parsePasswordFile('ann:{PLAIN}pass:word'));
  const server = stack.use(
    await serveConsole({ sources: memorySources(state), watcher, assets: await loadPage(), port: 0, publicUrls: [], users }),
  );
  const folder = await mkdtemp(join(tmpdir(), 'chromium-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const browser = await startBrowser(folder);
  stack.defer(() => browser.close());
  const faults: string[] = [];
  const page = await openPage(browser, faults);
  await page.authenticate(credentials);
  await page.goto(`http://127.0.0.1:${server.port}/`);
  const owned = stack.move();
  return { page, faults, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

test('the page is live with the user and password that the browser was given', async () => {
  await using opened = await open({ username: 'ann', password: 'pass:word' });
  await see(opened.page, /no connector of routing key "billing"/);
  assert.deepEqual(opened.faults, []);
});

test('the page says how to sign in after a wrong password', async () => {
  await using opened = await open({ username: 'ann', password: 'wrong' });
  await see(opened.page, 'Sign in with a user and password');
  await see(opened.page, 'Reload the page');
});
