/** The page of the console in Chromium: opens views, waits for texts, and looks for faults. */
import axe from 'axe-core';
import { chmod, writeFile } from 'node:fs/promises';
import puppeteer, { type Browser, type KeyInput, type Page } from 'puppeteer-core';
import { eventually } from '../../harness/wait.ts';

/**
 * Commands and answers of the browser go through pipes.
 * @param enter command before `chromium`, such as one that enters a network namespace
 */
export async function startBrowser(folder: string, enter = ''): Promise<Browser> {
  const executablePath = `${folder}/run`;
  await writeFile(executablePath, `#!/bin/sh\nexec ${enter} chromium "$@"\n`);
  await chmod(executablePath, 0o755);
  const args = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
  return puppeteer.launch({ executablePath, pipe: true, args, userDataDir: `${folder}/profile` });
}

/** @param faults gets violations of the content security policy, and errors of scripts */
export async function openPage(browser: Browser, faults: string[]): Promise<Page> {
  const page = await browser.newPage();
  page.on('pageerror', (error) => void faults.push(String(error)));
  page.on('console', (message) => void (message.text().startsWith('CSP ') && faults.push(message.text())));
  await page.evaluateOnNewDocument(
    `document.addEventListener('securitypolicyviolation', (event) => console.log('CSP ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample))`,
  );
  return page;
}

export const textOf = async (page: Page): Promise<string> => String(await page.evaluate('document.body.innerText'));

export async function see(page: Page, text: string | RegExp, timeoutMs = 60_000): Promise<string> {
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

export async function reach(page: Page, hash: string): Promise<void> {
  await eventually(`the view ${hash}`, async () => {
    const now = String(await page.evaluate('location.hash'));
    if (now !== hash) throw new Error(`${now}: ${(await textOf(page)).slice(0, 500)}`);
    return true;
  });
}

export async function press(page: Page, ...keys: readonly KeyInput[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

/** Shows a view, and waits until it has read what it needs. */
async function show(page: Page, view: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(view)}`);
  await eventually(
    `the view ${view}`,
    async () => (await page.evaluate(`document.querySelector('main')?.innerText.includes('…') === false`)) === true,
  );
}

/** Accessibility faults and sideways scrolling of each view: light, dark, and at 360 pixels. */
export async function findFaults(page: Page, views: readonly string[]): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const found: string[] = [];
  for (const [scheme, width] of [
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
  ] as const) {
    await page.setViewport({ width, height: 800 });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    for (const view of views) {
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
  return found;
}
