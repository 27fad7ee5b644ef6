import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import type { Router } from '../../../src/router/contract.ts';
import { freePort } from '../support/free-port.ts';
import { testAuthority } from './support/certificates.ts';
import { access, accessPort, connector, echoServer, link, listener, siteConfig, start, until } from './support/site.ts';
import { standardClient } from './support/standard-client.ts';

const authority = await testAuthority();
const stack = new AsyncDisposableStack();
after(() => stack.disposeAsync());
const echo = stack.use(await echoServer('hello'));

/** Accepts a guest on its edge port, as edge sites connect. The guest also has a link to the far site, and later says it is no edge site. */
const middleConfig = {
  ...siteConfig('middle'),
  accesses: [access(await authority.issue()), access(await authority.issue(), { name: 'edge', role: 'edge' })],
  connectors: [connector('here', echo.port)],
};
const farConfig = { ...siteConfig('far'), accesses: [access(await authority.issue())], connectors: [connector('far', echo.port)] };
const [middle, far] = [stack.use(await start(middleConfig)), stack.use(await start(farConfig))];
const port = await accessPort(middle);
const edgePort = await accessPort(middle, 'edge');
const guestConfig = {
  ...siteConfig('guest'),
  edge: true,
  links: [link('middle', edgePort, await authority.issue()), link('far', await accessPort(far), await authority.issue())],
  listeners: [listener('far', await freePort()), listener('here', await freePort())],
};
const guest = stack.use(await start(guestConfig));
const client = stack.use(
  await start({
    ...siteConfig('client'),
    links: [link('middle', port, await authority.issue())],
    listeners: [listener('far', await freePort())],
  }),
);
await until(client, 'the edge site', ({ network }) => network.some(({ edge }) => edge));
await until(guest, 'both its listeners', ({ listeners }) => Object.values(listeners).every(({ listening }) => listening));
guest.apply({ ...guestConfig, edge: false });
await until(client, 'another word of it', ({ network }) => network.length === 3 && network.every(({ edge }) => !edge));
// Each hears of the others in its own time.
const counts = [[middle, 3] as const, [far, 2] as const, [guest, 4] as const];
for (const [router, count] of counts) await until(router, 'the others', ({ network }) => network.length === count);

const sitesOf = ({ state }: Router): readonly string[] => state.network.map(({ site }) => site.name).sort();

/** Answer of the middle at one of its ports. */
async function answer(at: number, key: string, fields: Readonly<Record<string, string>>, siteId?: string): Promise<number | undefined> {
  using standard = await standardClient(at, await authority.issue(siteId === undefined ? {} : { siteId }));
  const stream = standard.session.request({ ':method': 'CONNECT', ':authority': key, ...fields }, { endStream: false });
  const [{ ':status': status }] = (await once(stream, 'response')) as [{ ':status'?: number }];
  stream.destroy();
  return status;
}

const routeBy = (...sites: readonly { readonly site: { readonly id: string } }[]): Readonly<Record<string, string>> => ({
  'earshot-route': sites.map(({ site }) => `${site.id}/main`).join(' '),
});

test('no path of anybody leads through a site that came in by the edge port, whatever it says of itself', () => {
  assert.deepEqual(sitesOf(middle), ['client', 'guest', 'middle']);
  assert.deepEqual(sitesOf(client), ['client', 'guest', 'middle']);
  assert.deepEqual(sitesOf(far), ['far', 'guest']);
  assert.equal(client.state.listeners['Listener/far']?.listening, false);
  assert.deepEqual(sitesOf(guest), ['client', 'far', 'guest', 'middle'], 'it is let in itself');
});

test('a request whose route goes on from there is refused, and one that ends there is not', async () => {
  assert.equal(await answer(port, 'far', routeBy(middleConfig, guestConfig, farConfig)), 502);
  assert.equal(await answer(port, 'nothing', routeBy(middleConfig, guestConfig)), 404, 'as the guest says');
});

test('a request that comes from there and began elsewhere is refused, and one of its own is not', async () => {
  const { id } = guestConfig.site;
  const other = farConfig.site.id;
  assert.equal(await answer(edgePort, 'here', { 'earshot-via': other }, id), 502);
  assert.equal(await answer(edgePort, 'here', { 'earshot-origin': other }, id), 502);
  assert.equal(await answer(edgePort, 'here', { 'earshot-origin': id, 'earshot-via': id }, id), 200);
  assert.equal(await answer(edgePort, 'here', {}), 200);
  assert.equal(await answer(port, 'here', { 'earshot-via': other }), 200, 'at the other port it is transit like any other');
});
