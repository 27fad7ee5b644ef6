import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Router, RouterConfig } from '../../../../src/router/contract.ts';
import { openBundle } from '../../../../src/router/link/bundle.ts';
import { openLink, type OpenedLink } from '../../../../src/router/link/dial/outgoing.ts';
import { dialTls } from '../../../../src/router/link/dial/tls-dial.ts';
import type { LinkHost } from '../../../../src/router/link/host.ts';
import { Connection } from '../../../../src/router/link/session/connection.ts';
import { frameMessage } from '../../../../src/router/link/session/framing.ts';
import { writeHello } from '../../../../src/router/link/session/hello.ts';
import { OneMessage } from '../../../../src/router/link/session/one-message.ts';
import { COST } from '../../../../src/memory/costs.ts';
import { startRouter } from '../../../../src/router/router.ts';
import { REVERSE } from '../../../../src/router/wire.ts';
import { testAuthority } from '../support/certificates.ts';
import { linkHost } from '../support/link-host.ts';
import { access, accessPort, quiet, siteConfig, start } from '../support/site.ts';
import { standardClient } from '../support/standard-client.ts';

const authority = await testAuthority();
const DEADLINE = 5_000;
/** One owner has room for two connections of a link, and for half of one. */
const ROOM_FOR_LINK = 8 * 3.4 * COST.peer;

const acceptor = async (): Promise<RouterConfig> => ({ ...siteConfig('there'), accesses: [access(await authority.issue())] });

type Dial = (protocol: string) => ReturnType<typeof dialTls>;

async function dialer(host: LinkHost, there: Router): Promise<Dial> {
  const bundle = openBundle(await authority.issue({ siteId: host.hello({ id: '', cost: 1 }).site.id }), 'client');
  const endpoint = { host: '127.0.0.1', port: await accessPort(there) };
  const { signal } = new AbortController();
  return (protocol) => dialTls({ endpoint, bundle, protocol, deadline: DEADLINE, signal });
}

const open = (host: LinkHost, dial: Dial): Promise<OpenedLink> =>
  openLink({ host, peer: 'there', cost: 1, id: randomBytes(10).toString('hex'), signal: new AbortController().signal, dial });

/** One more connection on which the acceptor may open requests, as it may get at any time. @returns whether it is taken, or what is said of it */
async function further(host: LinkHost, dial: Dial, id: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const connection: Connection = new Connection({
    socket: await dial(REVERSE),
    dialed: true,
    owner: 'link there',
    role: 'server',
    host,
    events: {
      onRequest: (stream) => {
        const body = new OneMessage(DEADLINE, () => assert.fail('it is no answer'));
        body.use(stream);
        stream.respond({ status: 200, fields: {} });
        stream.write(frameMessage(writeHello(host.hello({ id, cost: 1 }), host.siteKey, connection.ours)));
        stream.end();
        body.ended.then(
          () => resolve('taken'),
          () => {},
        );
        return body;
      },
      onSilence: () => {},
      onGoaway: ({ reason }) => resolve(reason),
      onClose: ({ reason }) => resolve(reason),
    },
  });
  const answer = await promise;
  connection.destroy();
  return answer;
}

describe('a second connection of a link', () => {
  it('receives the reason of its refusal, even before any request on it', async () => {
    await using there = await start(await acceptor());
    const client = siteConfig('client');
    using host = linkHost(client);
    const dial = await dialer(host, there);
    const tls = await authority.issue({ siteId: client.site.id });
    const port = await accessPort(there);
    using stack = new DisposableStack();
    const fifteen = Array.from({ length: 15 }, () => standardClient(port, tls));
    for (const one of await Promise.all(fifteen)) stack.use(one);
    const last = async (protocol: string) => {
      // The link has said its hello by then, and counts no more among those that have not.
      if (protocol === REVERSE) stack.use(await standardClient(port, tls));
      return dial(protocol);
    };
    await assert.rejects(open(host, last), { code: 'busy', message: /^there refuses this link: 16 connections are open/ });
  });

  it('is one of two that fit into memory: a third is refused without memory', async () => {
    const config = await acceptor();
    for (const memory of [2 * ROOM_FOR_LINK, ROOM_FOR_LINK]) {
      await using there = await startRouter(config, {}, { log: quiet, memory });
      using host = linkHost(siteConfig('client'));
      const dial = await dialer(host, there);
      const { link } = await open(host, dial);
      const said = await further(host, dial, link.id);
      assert.match(said, memory === ROOM_FOR_LINK ? /busy: \d+ MiB of this router's memory are in use for you/ : /^taken$/);
      link.cut(new Error('the test is over'));
    }
  });
});
