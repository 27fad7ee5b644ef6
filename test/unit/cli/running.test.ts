import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { untilRunning } from '../../../src/cli/actions/system-actions.ts';
import { layoutOf, type NamespaceLayout } from '../../../src/platform/linux/layout.ts';
import { announceRouter, lockRouter } from '../../../src/platform/linux/routers.ts';
import { makeNamespace } from '../../../src/platform/linux/site.ts';

async function namespaceOf(t: TestContext): Promise<NamespaceLayout> {
  const base = await mkdtemp(join(tmpdir(), 'earshot-running-'));
  t.after(() => rm(base, { recursive: true, force: true }));
  const layout = layoutOf('west', base);
  await makeNamespace(layout);
  return layout;
}

const terminal = (note: (text: string) => void) => ({ out: () => {}, note, input: () => Promise.resolve('') });

test('a service is started only once its process says that it runs, so that the next command finds it', async (t) => {
  const layout = await namespaceOf(t);
  // A router counts once it has its lock and says where it is to be reached.
  using _lock = await lockRouter(layout, 'router');
  let announced: Promise<void> | undefined;
  const started = { pid: process.pid, router: 'router', httpPort: 1, startedAt: '2026-01-01T00:00:00Z', version: '0' };
  await untilRunning(
    layout,
    30_000,
    'journalctl',
    terminal(() => (announced ??= announceRouter(layout, started))),
  );
  assert.ok(announced, 'it returned before anything ran');
  await announced;
});

test('a service whose process never comes up says where to look', async (t) => {
  const layout = await namespaceOf(t);
  const waited = untilRunning(
    layout,
    100,
    'journalctl -u earshot-west.service',
    terminal(() => {}),
  );
  await assert.rejects(waited, { code: 'not-ready', message: /`journalctl -u earshot-west\.service` says why/ });
});
