import assert from 'node:assert/strict';
import dns, { type LookupAddress } from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { freePort } from '../../support/free-port.ts';
import { testAuthority } from '../support/certificates.ts';
import { access, ask, connector, echoServer, listener, siteConfig, start, until } from '../support/site.ts';

const authority = await testAuthority();

type Answer = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

test('an access of a name that is not resolved yet opens once it is, hinders nothing else meanwhile, and ends with the router', async (t) => {
  const asked: Answer[] = [];
  const { lookup } = dns;
  t.mock.method(dns, 'lookup', (host: string, options: dns.LookupAllOptions, answer: Answer) => {
    // Node.js asks for addresses, too, where something listens at one.
    if (host.endsWith('.example')) asked.push(answer);
    else lookup(host, options, answer);
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  await using echo = await echoServer();
  const port = await freePort();
  const named = { ...access(await authority.issue()), host: 'slow.example' };
  const config = { ...siteConfig('west'), listeners: [listener('key', port)], connectors: [connector('key', echo.port)] };
  await using west = await start({ ...config, accesses: [named] });
  await until(west, 'the listener', ({ listeners }) => listeners['Listener/key']?.listening === true);
  assert.equal(await ask(port, 'here'), 'here');
  assert.deepEqual(west.state.accesses, { [named.name]: { listening: false } });
  assert.equal(asked.length, 1);
  asked[0]?.(null, [{ address: '127.0.0.1', family: 4 }]);
  await until(west, 'the access', ({ accesses }) => accesses[named.name]?.listening === true);
  west.apply({ ...config, accesses: [{ ...named, host: 'gone.example' }] });
  asked[1]?.(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), []);
  await until(west, 'the problem', ({ accesses }) => accesses[named.name]?.problem?.code === 'host-not-local');
  west.apply({ ...config, accesses: [{ ...named, host: 'never.example' }] });
  assert.equal(asked.length, 3);
});
