import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { layoutOf, type NamespaceLayout } from '../../../src/platform/linux/layout.ts';
import { makeNamespace } from '../../../src/platform/linux/site.ts';

export async function aDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'earshot-platform-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export async function aNamespace(t: TestContext, name = 'west'): Promise<NamespaceLayout> {
  const layout = layoutOf(name, await aDirectory(t));
  await makeNamespace(layout);
  return layout;
}

/** Resolves when the condition holds; rejects after thirty seconds with what was to be waited for. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + 30_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited thirty seconds until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
