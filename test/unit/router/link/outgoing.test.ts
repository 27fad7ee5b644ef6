import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { openBundle } from '../../../../src/router/link/bundle.ts';
import { deadlines } from '../../../../src/router/deadlines.ts';
import { openFirst, type DialEndpoint, type DialTarget } from '../../../../src/router/link/dial/dial-endpoints.ts';
import { openLink } from '../../../../src/router/link/dial/outgoing.ts';
import { dialTls } from '../../../../src/router/link/dial/tls-dial.ts';
import { LinkError } from '../../../../src/router/link/link-errors.ts';
import { FORWARD } from '../../../../src/router/wire.ts';
import { aborted } from '../../../../src/work/pause.ts';
import { testAuthority } from '../support/certificates.ts';
import { linkHost } from '../support/link-host.ts';
import { access, accessPort, siteConfig, start } from '../support/site.ts';

const authority = await testAuthority();

const attempt = { peer: 'the peer', cost: 1, id: 'abcdefgh01234567', signal: new AbortController().signal };

const targetOf = (endpoints: readonly DialEndpoint[]): DialTarget => ({
  cost: 1,
  endpoints: () => endpoints,
  servedBy: () => true,
  ofLearned: () => [],
  beginsAs: () => true,
  equals: () => true,
});

test('an error of the first endpoint is reported first, even if it was tried last', async () => {
  using host = linkHost(siteConfig('dialer'));
  const tried: string[] = [];
  const endpoints = ['first', 'second'].map((peer) => ({
    peer,
    dial: () => {
      tried.push(peer);
      return Promise.reject(new LinkError('unreachable', `No way to ${peer}.`));
    },
  }));
  const { signal } = new AbortController();
  await assert.rejects(openFirst({ host, target: targetOf(endpoints), last: 'first', signal }), {
    message: 'No way to first. The same at second.',
  });
  assert.deepEqual(tried, ['second', 'first']);
});

describe('An endpoint that is slow', () => {
  for (const [what, hasTcp, dials] of [
    ['does not answer is dialed once more beside the first attempt, whose end it need not await', false, 2],
    ['has answered is not dialed again', true, 1],
  ] as const) {
    test(`and ${what}`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      using host = linkHost(siteConfig('dialer'));
      const end = new AbortController();
      let dialed = 0;
      const dial: DialEndpoint['dial'] = (_protocol, _deadline, signal, onTcp) => {
        dialed += 1;
        if (dialed > 1) return Promise.reject(new LinkError('refused', 'Connection refused.'));
        if (hasTcp) onTcp?.();
        return aborted(signal).then(() => Promise.reject(new LinkError('closed', 'The attempt was aborted.')));
      };
      const opening = openFirst({ host, target: targetOf([{ peer: 'peer', dial }]), last: undefined, signal: end.signal });
      const failed = assert.rejects(opening, { code: hasTcp ? 'closed' : 'refused' });
      t.mock.timers.tick(deadlines.slowAttempt);
      await turn();
      end.abort();
      await failed;
      assert.equal(dialed, dials);
    });
  }
});

test('a peer whose certificate is revoked here keeps no connection', async () => {
  using dialer = linkHost(siteConfig('dialer'), { isRevoked: () => true });
  const socket = new Socket();
  await assert.rejects(openLink({ ...attempt, host: dialer, dial: () => Promise.resolve(socket) }), { code: 'revoked' });
  assert.equal(socket.destroyed, true);
});

test('a second connection that comes after the first has broken is closed', async () => {
  await using server = await start({ ...siteConfig('server'), accesses: [access(await authority.issue())] });
  const endpoint = { host: '127.0.0.1', port: await accessPort(server) };
  const bundle = openBundle(await authority.issue(), 'client');
  using dialer = linkHost(siteConfig('dialer'));
  const dialed = Promise.withResolvers<void>();
  const second = Promise.withResolvers<Socket>();
  const opening = openLink({
    ...attempt,
    host: dialer,
    dial: (protocol, deadline, signal) => {
      if (protocol === FORWARD) return dialTls({ endpoint, bundle, protocol, deadline, signal });
      dialed.resolve();
      return second.promise;
    },
  });
  const refused = assert.rejects(opening, { name: 'LinkError' });
  await dialed.promise;
  await server[Symbol.asyncDispose]();
  await refused;
  const socket = new Socket();
  second.resolve(socket);
  await new Promise(setImmediate);
  assert.equal(socket.destroyed, true);
});
