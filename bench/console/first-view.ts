/** Time until Chromium shows views of a console, from the request for the page until the content is in the document. */
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'puppeteer-core';
import { openPage, startBrowser } from '../../test/net/harness/console-page.ts';

/** A view is shown when its content has this text. */
const VIEWS: Readonly<Record<string, RegExp>> = { '#/': /Traffic at this site/, '#/services': /service-\d/, '#/network': /site-\d/ };

/** Number of times that each view is opened. */
const TIMES = 7;
const PATIENCE = 30_000;

/** @returns milliseconds by view, one for each time */
export async function timeFirstViews(link: string): Promise<ReadonlyMap<string, readonly number[]>> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'earshot-first-view-'));
  await using stack = new AsyncDisposableStack();
  const browser = await startBrowser(folder.path);
  stack.defer(() => browser.close());
  const page = await openPage(browser, []);
  // Signs in; views that are opened later use its bearer.
  await timeView(page, link, VIEWS['#/'] ?? /./);
  const times = new Map<string, readonly number[]>();
  for (const [view, shows] of Object.entries(VIEWS)) {
    const taken: number[] = [];
    while (taken.length < TIMES) {
      // Another page comes in between, since a change of the hash alone loads nothing.
      await page.goto('about:blank');
      taken.push(await timeView(page, `${new URL(link).origin}/${view}`, shows));
    }
    times.set(view, taken);
  }
  return times;
}

/** The clock of the page begins with its navigation. */
async function timeView(page: Page, address: string, shows: RegExp): Promise<number> {
  await page.goto(address, { waitUntil: 'domcontentloaded' });
  const shown = await page.waitForFunction(
    `(() => ${String(shows)}.test(document.querySelector('main')?.textContent ?? '') && performance.now())()`,
    { polling: 'mutation', timeout: PATIENCE },
  );
  return Number(await shown.jsonValue());
}
