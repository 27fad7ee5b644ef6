import { test } from 'node:test';
import { testAuthority } from '../support/certificates.ts';
import { access, accessPort, link, siteConfig, start, until } from '../support/site.ts';

test('a cost that changes while its link is being opened is that of the link once it is up', async () => {
  const authority = await testAuthority();
  await using server = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())] });
  const to = link('server', await accessPort(server), await authority.issue());
  const base = siteConfig('client');
  await using client = await start(base);
  // One after the other, so that the attempt has begun.
  client.apply({ ...base, links: [to] });
  await new Promise(setImmediate);
  client.apply({ ...base, links: [{ ...to, cost: 7 }] });
  for (const router of [client, server])
    await until(router, 'the new cost', ({ network }) => network[0]?.links.some(({ cost }) => cost === 7) === true);
});
