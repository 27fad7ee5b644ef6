import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Router } from '../../../src/router/contract.ts';
import { eventually } from '../../harness/wait.ts';
import { testAuthority } from './support/certificates.ts';
import { access, accessPort, link, siteConfig, start, until } from './support/site.ts';

const contestsOf = ({ selfFigures }: Router) => selfFigures?.contested ?? { count: 0, last: 0 };

test('all figures of a router have its certificates and keys, and begin the event-loop delay again', async () => {
  const authority = await testAuthority();
  const config = { ...siteConfig('hub'), accesses: [access(await authority.issue())] };
  await using hub = await start(config);
  await eventually('a delay', () => (hub.selfFigures?.eventLoopDelay ?? 0) > 0);
  const { eventLoopDelay = 0, certificates, items } = hub.readFigures?.() ?? assert.fail('it has figures');
  assert.ok(eventLoopDelay > 0);
  assert.deepEqual([certificates.map(({ bundle }) => bundle), items], [[config.accesses[0]?.tls.name], []]);
  assert.ok(certificates.every(({ days }) => days > 0));
  assert.equal(hub.selfFigures?.eventLoopDelay, 0);
});

test('a router reports how late its event loop is, and a copy of its site that other sites can reach too', async () => {
  const authority = await testAuthority();
  await using hub = await start({ ...siteConfig('hub'), accesses: [access(await authority.issue())] });
  const port = await accessPort(hub);
  const config = { ...siteConfig('west'), links: [link('hub', port, await authority.issue())] };
  await using west = await start(config);
  await until(west, 'the link', ({ links }) => links['hub']?.operational === true);
  const delay = west.selfFigures?.eventLoopDelay ?? -1;
  assert.ok(delay >= 0 && delay < 60_000, `${delay} ms`);
  assert.equal(contestsOf(west).count, 0);
  const before = Date.now();
  await using copy = await start(config);
  for (const router of [west, copy]) await eventually('two announcements', () => contestsOf(router).count >= 2);
  assert.ok(contestsOf(west).last >= before);
  assert.equal(contestsOf(hub).count, 0);
});
