import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Dialer } from '../../../../src/router/link/dial/dialer.ts';
import type { DialTarget } from '../../../../src/router/link/dial/dial-endpoints.ts';
import { openLink } from '../../../../src/router/link/dial/outgoing.ts';
import { LinkError } from '../../../../src/router/link/link-errors.ts';
import { FORWARD, REVERSE } from '../../../../src/router/wire.ts';
import { eventually } from '../../../harness/wait.ts';
import { linkHost } from '../support/link-host.ts';
import { siteConfig } from '../support/site.ts';
import { Acceptor } from './support/acceptor.ts';

const options = { peer: 'the peer', cost: 1, id: 'abcdefgh01234567' };
const signal = new AbortController().signal;
const noneOpen = (acceptor: Acceptor): Promise<unknown> => eventually('no connection is left', () => acceptor.open === 0);

describe('a link that is being opened', () => {
  it('is up with a connection for each direction, and keeps none that met another router', async () => {
    await using acceptor = new Acceptor({ attaches: (attempt) => (attempt < 4 ? `other-${attempt}` : 'main'), lingers: true });
    using dialer = linkHost(siteConfig('dialer'));
    const { link } = await openLink({ ...options, signal, host: dialer, dial: acceptor.dial });
    assert.equal(link.state, 'up');
    assert.deepEqual(acceptor.dialed, [FORWARD, REVERSE, REVERSE, REVERSE, REVERSE]);
    await eventually('two connections are left', () => acceptor.open === 2);
    link.cut(new Error('the test has seen enough'));
    await noneOpen(acceptor);
  });

  it('is up only once its peer has taken the second connection', async () => {
    const asked = Promise.withResolvers<void>();
    const taken = Promise.withResolvers<void>();
    await using acceptor = new Acceptor({
      takes: () => {
        asked.resolve();
        return taken.promise;
      },
    });
    using dialer = linkHost(siteConfig('dialer'));
    const opening = openLink({ ...options, signal, host: dialer, dial: acceptor.dial });
    await asked.promise;
    assert.deepEqual(
      [...dialer.links.all].map(({ state }) => state),
      ['joining'],
    );
    taken.resolve();
    const { link } = await opening;
    assert.equal(link.state, 'up');
    link.cut(new Error('the test has seen enough'));
    await noneOpen(acceptor);
  });

  it('fails with what the peer says, and leaves nothing, where that does not take the second connection', async () => {
    await using acceptor = new Acceptor({ takes: () => Promise.reject(new LinkError('busy', 'There are too many.')) });
    using dialer = linkHost(siteConfig('dialer'));
    await assert.rejects(openLink({ ...options, signal, host: dialer, dial: acceptor.dial }), {
      code: 'busy',
      message: /There are too many/,
    });
    await noneOpen(acceptor);
  });

  it('remembers that its peer fell silent, though the connection is gone by then', async () => {
    await using acceptor = new Acceptor();
    using dialer = linkHost(siteConfig('dialer'));
    const opened = await openLink({ ...options, signal, host: dialer, dial: acceptor.dial });
    assert.equal(opened.silent, false);
    for (const connection of opened.link.connections) connection.giveUp(30_000);
    assert.equal(opened.link.state, 'down');
    assert.equal(opened.silent, true);
  });

  it('fails, and leaves nothing, where the peer ends its routing stream before it attaches', async () => {
    using dialer = linkHost(siteConfig('dialer'));
    await using acceptor = new Acceptor({
      beforeAttach: async ({ routing }) => {
        routing?.end();
        await eventually('the end has arrived', () => [...dialer.links.all].every(({ state }) => state === 'down'));
      },
    });
    await assert.rejects(openLink({ ...options, signal, host: dialer, dial: acceptor.dial }), { code: 'closed' });
    await noneOpen(acceptor);
  });

  it('fails, and leaves nothing, where this router retires it meanwhile', async () => {
    using dialer = linkHost(siteConfig('dialer'));
    await using acceptor = new Acceptor({
      beforeAttach: () => {
        for (const link of dialer.links.all) link.retire('this router is closing');
      },
    });
    await assert.rejects(openLink({ ...options, signal, host: dialer, dial: acceptor.dial }), { code: 'closed' });
    await noneOpen(acceptor);
  });

  for (const moment of [FORWARD, REVERSE]) {
    it(`opens nothing more when it is given up while it dials ${moment}`, async () => {
      const given = new AbortController();
      await using acceptor = new Acceptor({ attaches: (attempt) => `other-${attempt}` });
      using dialer = linkHost(siteConfig('dialer'));
      const dial = (protocol: string) => {
        const dialing = acceptor.dial(protocol);
        if (protocol === moment) given.abort();
        return dialing;
      };
      await assert.rejects(openLink({ ...options, signal: given.signal, host: dialer, dial }), { code: 'closed' });
      await noneOpen(acceptor);
      assert.equal(acceptor.dialed.at(-1), moment);
    });
  }
});

/** Turns of the event loop until it holds: time stands still, and only sockets bring anything. */
async function turnsUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate);
}

describe('a link that ends as soon as it is up', () => {
  it('is opened again ever more rarely, though the peer ends it in order', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    t.mock.method(Math, 'random', () => 0);
    let now = 1_000_000;
    t.mock.method(performance, 'now', () => now);
    await using acceptor = new Acceptor({ attached: ({ routing }) => routing?.end() });
    const target: DialTarget = {
      cost: 1,
      endpoints: () => [{ peer: 'the peer', dial: acceptor.dial }],
      servedBy: () => true,
      ofLearned: () => [],
      beginsAs: () => true,
      equals: () => true,
    };
    const attempts = (): number => acceptor.dialed.filter((protocol) => protocol === FORWARD).length;
    const dialer = { current: undefined as Dialer | undefined };
    let losses = 0;
    using host = linkHost(siteConfig('dialer'), {
      events: {
        onUp: () => {},
        onClosed: () => {},
        onDown: (link) => {
          dialer.current?.linkDown(link);
          losses += 1;
        },
        onCost: () => {},
        onSilence: () => {},
        onLeaving: () => {},
      },
    });
    dialer.current = new Dialer(host, 'link', target);
    for (const [before, pause] of [100, 200, 400, 800, 1_600, 3_000, 3_000].entries()) {
      await turnsUntil(() => losses === before + 1);
      now += pause - 1;
      t.mock.timers.tick(pause - 1);
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
      assert.equal(attempts(), before + 1, `after ${pause - 1} ms`);
      now += 1;
      t.mock.timers.tick(1);
    }
    dialer.current.destroy();
    await turnsUntil(() => acceptor.open === 0);
  });
});
