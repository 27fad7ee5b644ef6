import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http2';
import { test } from 'node:test';
import { freePort } from '../../support/free-port.ts';
import { testAuthority } from '../support/certificates.ts';
import { access, accessPort, ask, connector, echoServer, link, listener, siteConfig, start, until } from '../support/site.ts';
import { standardClient } from '../support/standard-client.ts';

const authority = await testAuthority();
const UUID = '11111111-1111-8111-8111-111111111111';

interface Transit extends AsyncDisposable {
  /** Port for requests of a test client to the site in the middle, and the route to the one behind it. */
  readonly at: number;
  readonly route: string;
  readonly service: () => Promise<void>;
}

/** A site in the middle, which carries what left asks of right. */
async function transit(): Promise<Transit> {
  const stack = new AsyncDisposableStack();
  const echo = stack.use(await echoServer());
  const port = await freePort();
  const [inTheMiddle, onTheRight] = [siteConfig('middle'), siteConfig('right')];
  const middle = stack.use(await start({ ...inTheMiddle, accesses: [access(await authority.issue())] }));
  const at = await accessPort(middle);
  const left = stack.use(
    await start({ ...siteConfig('left'), links: [link('middle', at, await authority.issue())], listeners: [listener('key', port)] }),
  );
  stack.use(
    await start({ ...onTheRight, links: [link('middle', at, await authority.issue())], connectors: [connector('key', echo.port)] }),
  );
  await until(left, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  return {
    at,
    route: `${inTheMiddle.site.id}/main ${onTheRight.site.id}/main`,
    service: async () => assert.equal(await ask(port, 'still served'), 'still served'),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Fields that a peer may say, and what a site in between makes of them. */
const cases: readonly { readonly what: string; readonly fields: OutgoingHttpHeaders; readonly status: number }[] = [
  { what: 'a field that is there twice, the second time empty', fields: { 'x-a': ['a', ''] }, status: 200 },
  { what: 'a field that is there twice, the first time empty', fields: { 'x-a': ['', 'a'] }, status: 200 },
  { what: 'a field that is empty three times', fields: { 'x-a': ['', '', ''] }, status: 200 },
  { what: 'cookies that are empty', fields: { cookie: ['a', ''] }, status: 200 },
  { what: 'sites that it came through', fields: { 'earshot-via': `${UUID} ${UUID}` }, status: 200 },
  { what: 'no site that it came through', fields: { 'earshot-via': '' }, status: 400 },
  { what: 'sites that it came through twice', fields: { 'earshot-via': [UUID, UUID] }, status: 400 },
  { what: 'sites that it came through, and then nothing', fields: { 'earshot-via': [UUID, ''] }, status: 400 },
  { what: 'sites with two spaces between them', fields: { 'earshot-via': `${UUID}  ${UUID}` }, status: 400 },
  { what: 'an invalid site', fields: { 'earshot-via': 'somebody' }, status: 400 },
];

test('a site in between passes odd fields on, or refuses them, and goes on', async (t) => {
  await using net = await transit();
  // Named, so that the site in the middle has something to add to `earshot-via`.
  using client = await standardClient(net.at, await authority.issue({ siteId: UUID }));
  for (const { what, fields, status } of cases) {
    await t.test(what, async () => {
      const stream = client.session.request(
        { ':method': 'CONNECT', ':authority': 'key', 'earshot-route': net.route, ...fields },
        { endStream: false },
      );
      stream.on('error', () => {});
      const [answer] = await once(stream, 'response');
      assert.equal(answer[':status'], status);
      stream.close();
      await net.service();
    });
  }
});
