/** Figures of routing keys at both ends of connections. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { eventually } from '../../harness/wait.ts';
import { freePort } from '../support/free-port.ts';
import { testAuthority } from './support/certificates.ts';
import { access, accessPort, ask, connector, echoServer, link, listener, siteConfig, start, until } from './support/site.ts';

test('connections are counted by the site at their other end, with their bytes and connect times', async () => {
  const authority = await testAuthority();
  const [port, closed] = [await freePort(), await freePort()];
  await using echo = await echoServer();
  const west = { ...siteConfig('west'), accesses: [access(await authority.issue())], listeners: [listener('web', port)] };
  await using westRouter = await start(west);
  const east = {
    ...siteConfig('east'),
    links: [link('west', await accessPort(westRouter), await authority.issue())],
    connectors: [connector('web', echo.port)],
  };
  await using eastRouter = await start(east);
  await until(westRouter, 'the listener', ({ listeners }) => listeners['Listener/web']?.listening === true);
  await ask(port, 'some');
  await ask(port, 'text');
  const bytes = { up: 8, down: 8 };
  const listens = await eventually('all bytes are counted', () => {
    const figures = westRouter.keyFigures?.ofKey('web').listener;
    return figures?.open === 0 ? figures : undefined;
  });
  assert.deepEqual(listens.sites, [{ site: east.site.id, opened: 2, failed: 0, bytes }]);
  assert.deepEqual([listens.opened, listens.failed, listens.bytes, listens.request], [2, {}, bytes, null]);
  assert.ok((listens.connect?.p50 ?? 0) > 0);
  const connects = eastRouter.keyFigures?.ofKey('web').connector;
  assert.deepEqual(connects?.sites, [{ site: west.site.id, opened: 2, failed: 0, bytes }]);
  assert.deepEqual(
    westRouter.keyFigures?.all().map(({ key, role, connect: steps = [] }) => [key, role, steps.reduce((sum, [, count]) => sum + count, 0)]),
    [['web', 'listener', 2]],
  );

  eastRouter.apply({ ...east, connectors: [{ ...connector('web', closed), probe: 'none' }] });
  await once(connect(port, '127.0.0.1'), 'error');
  const [site] = await eventually('the failure', () => {
    const { sites = [] } = westRouter.keyFigures?.ofKey('web').listener ?? {};
    return sites.some(({ failed }) => failed > 0) ? sites : undefined;
  });
  assert.deepEqual([site?.site, site?.opened, site?.failed], [east.site.id, 2, 1]);
});
