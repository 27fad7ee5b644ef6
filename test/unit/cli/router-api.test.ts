/** The API of a router that runs, as the command line asks it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, open, stat } from 'node:fs/promises';
import { test } from 'node:test';
import { routerFiles } from '../../../src/platform/linux/layout.ts';
import { askRouter, notifyRouter } from '../../../src/platform/linux/router-api.ts';
import { lockOf, runningRouters } from '../../../src/platform/linux/routers.ts';
import { RunningSite } from './running-site.ts';

test('a running router answers on a socket that only its user can open, and stops gracefully on request', async () => {
  await using site = await RunningSite.make();
  await site.start();
  const { layout } = site;
  const { api } = routerFiles(layout, 'router');
  assert.equal((await stat(api)).mode & 0o777, 0o600);
  const self = (await askRouter(layout, 'router', '/v1/self')) as { readonly ready: boolean; readonly site: { readonly name: string } };
  assert.deepEqual([self.ready, self.site.name], [true, 'west']);
  const key = (await askRouter(layout, 'router', '/v1/keys/key')) as { readonly reachable: boolean };
  assert.equal(key.reachable, true);
  await assert.rejects(askRouter(layout, 'router', '/v1/nothing'), /the response has status 404: .*"not-found"/);
  const [running] = await runningRouters(layout);
  assert.ok(running);
  await site.adds('late');
  await notifyRouter(layout, running, 'reload');
  await site.until('it has read the listener', async () => /Listener/.test(await site.status('Listener-late.yaml')));
  await notifyRouter(layout, running, 'stop');
  assert.equal(await site.ends(), 0);
  await assert.rejects(access(api), { code: 'ENOENT' });
});

test('a router without such a socket is stopped by a signal', async () => {
  await using site = await RunningSite.make();
  await mkdir(site.layout.runtime.run, { recursive: true });
  const lock = await open(lockOf(site.layout, 'router'), 'w');
  const older = spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', lock.fd] });
  await lock.close();
  const { pid } = older;
  assert.ok(pid !== undefined);
  await notifyRouter(site.layout, { pid, router: 'router', httpPort: 1, startedAt: '', version: '0' }, 'stop');
  const [, signal] = (await once(older, 'exit')) as readonly unknown[];
  assert.equal(signal, 'SIGTERM');
});

test('a process that does not hold the lock of the router gets no signal, whatever the state file says', async () => {
  await using site = await RunningSite.make();
  const other = spawn('sleep', ['60'], { stdio: 'ignore' });
  const { pid } = other;
  assert.ok(pid !== undefined);
  const running = { pid, router: 'router', httpPort: 1, startedAt: '', version: '0' };
  await assert.rejects(notifyRouter(site.layout, running, 'reload'), { code: 'ENOENT' });
  await assert.rejects(notifyRouter(site.layout, running, 'stop'), { code: 'ENOENT' });
  assert.equal(other.exitCode ?? other.signalCode, null);
  other.kill();
  await once(other, 'exit');
});
