import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { eventually } from '../../harness/wait.ts';
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

export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  await eventually(what, condition);
}
