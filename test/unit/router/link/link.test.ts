import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSession } from '../../../../src/http2/session.ts';
import { Link } from '../../../../src/router/link/link.ts';
import { Connection } from '../../../../src/router/link/session/connection.ts';
import { RoutingStream } from '../../../../src/router/link/session/routing-stream.ts';
import { eventually } from '../../../harness/wait.ts';
import { loopback } from '../../http2/support/loopback.ts';
import { Recorder, SessionRecorder } from '../../http2/support/recorder.ts';
import { linkHost } from '../support/link-host.ts';
import { siteConfig } from '../support/site.ts';

describe('a link with more than one connection that it sends on', () => {
  const head = { method: 'CONNECT', authority: 'web', fields: {} };
  const whose = { owner: 'site', key: 'web' };

  it('opens streams on each that has room for them, and is busy when none has', async () => {
    await using stack = new AsyncDisposableStack();
    const host = stack.use(linkHost(siteConfig('dialer')));
    const routing = new RoutingStream({ onHello() {}, onMessage() {}, onEnd() {}, onFault() {} }, host.messageTime.of('peer'));
    const hello = { id: 'abcdefgh01234567', cost: 1 };
    const link = new Link({
      ...hello,
      peer: host.hello(hello),
      dialed: true,
      owner: 'peer',
      expires: Infinity,
      confined: false,
      routing,
      events: host.events,
    });
    stack.defer(() => link.cut(new Error('the test has seen enough')));
    const seen: SessionRecorder[] = [];
    // The one with little room has the least to do when it is full.
    for (const concurrentStreams of [8, 64]) {
      const { near, far } = stack.use(await loopback());
      const recorder = new SessionRecorder();
      seen.push(recorder);
      createSession(far, { role: 'server', events: recorder, limits: { concurrentStreams } });
      const events = { onRequest: () => new Recorder(), onGoaway() {}, onSilence() {}, onClose() {} };
      const connection = new Connection({ socket: near, dialed: true, role: 'client', owner: 'peer', host, events });
      // The peer's limits are known once it has answered.
      await connection.ping(5_000);
      link.add(connection, true);
    }
    link.up();
    let opened = 0;
    assert.throws(
      () => {
        for (; opened < 100; opened += 1) link.open(head, new Recorder(), whose);
      },
      { code: 'busy' },
    );
    assert.ok(opened > 32, `only ${opened} are open`);
    await eventually('all have come', () => seen.reduce((sum, { accepted }) => sum + accepted.length, 0) === opened);
    assert.ok(seen.every(({ accepted }) => accepted.length > 0));
  });
});
