import { once } from 'node:events';
import { constants } from 'node:http2';
import { test } from 'node:test';
import { eventually } from '../../harness/wait.ts';
import { testAuthority } from './support/certificates.ts';
import { openSockets } from './support/open-files.ts';
import { access, accessPort, connector, echoServer, siteConfig, start } from './support/site.ts';
import { standardClient } from './support/standard-client.ts';

const authority = await testAuthority();

test('a connection that a peer ends and resets at once leaves no open file', async () => {
  await using server = await echoServer('hello');
  const ends = { accesses: [access(await authority.issue())], connectors: [connector('key', server.port)] };
  await using site = await start({ ...siteConfig('end'), ...ends });
  using client = await standardClient(await accessPort(site), await authority.issue());
  const before = openSockets();
  for (let request = 0; request < 10; request += 1) {
    const stream = client.session.request({ ':method': 'CONNECT', ':authority': 'key' }, { endStream: false });
    stream.on('error', () => {});
    await once(stream, 'data');
    // Both frames leave in one write.
    stream.end();
    stream.close(constants.NGHTTP2_CANCEL);
  }
  await eventually('its connections to be closed', () => server.sockets.size === 0 && openSockets() <= before);
});
