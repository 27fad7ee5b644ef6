import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testAuthority } from './support/certificates.ts';
import { access, accessPort, ask, connector, echoServer, freePort, link, listener, siteConfig, start, until } from './support/site.ts';

test('a listener in one site reaches a connector in another, whichever of the two opened the link', async () => {
  const authority = await testAuthority();
  await using echo = await echoServer();
  const [portHere, portThere] = [await freePort(), await freePort()];
  const west = {
    ...siteConfig('west'),
    accesses: [access(await authority.issue())],
    connectors: [connector('there', echo.port)],
    listeners: [listener('here', portThere)],
  };
  await using westRouter = await start(west);
  const east = {
    ...siteConfig('east'),
    links: [link('west', await accessPort(westRouter), await authority.issue())],
    connectors: [connector('here', echo.port)],
    listeners: [listener('there', portHere)],
  };
  await using eastRouter = await start(east);
  await until(eastRouter, 'listener in east', (state) => state.listeners['Listener/there']?.listening === true);
  await until(westRouter, 'listener in west', (state) => state.listeners['Listener/here']?.listening === true);
  assert.equal(await ask(portHere, 'over the link'), 'over the link');
  assert.equal(await ask(portThere, 'and back'), 'and back');
  assert.deepEqual(eastRouter.state.links.west, {
    operational: true,
    remoteSiteId: west.site.id,
    remoteSiteName: 'west',
    endpoint: `127.0.0.1:${westRouter.state.accesses.access?.port}`,
  });
  assert.deepEqual(
    westRouter.state.incoming.map(({ siteName }) => siteName),
    ['east'],
  );
});
