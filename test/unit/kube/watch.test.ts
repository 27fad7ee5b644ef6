import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';

import { resource } from '../../../src/kube/resource.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import type { WatchEvent } from '../../../src/kube/contract.ts';
import { answer, chunk, configMap, endChunks, eventLine, failure, RawServer, startChunks } from './raw-server.ts';
import { eventually } from '../../harness/wait.ts';
import { assertError } from './assert-error.ts';

const configMaps = resource('v1', 'ConfigMap', 'configmaps');
const from = { after: '5' };

interface Watched {
  readonly events: readonly WatchEvent<KubeObject>[];
  readonly error: unknown;
}

/** One watch against a server that sends these bytes. */
async function watch(send: (socket: Socket) => void, options: { readonly idle?: number } = {}): Promise<Watched> {
  await using server = await RawServer.start((_request, socket) => send(socket));
  await using client = server.client(options.idle === undefined ? {} : { watchIdle: options.idle });
  const events: WatchEvent<KubeObject>[] = [];
  const error: unknown = await client
    .watch(configMaps, { namespace: 'default', from, timeoutSeconds: 60, onEvent: (event) => events.push(event) })
    .catch((cause: unknown) => cause);
  return { events, error };
}

const namesIn = ({ events }: Watched): readonly string[] =>
  events.map((event) => (event.type === 'BOOKMARK' ? `BOOKMARK ${event.resourceVersion}` : `${event.type} ${event.object.metadata.name}`));

describe('a watch on the wire', () => {
  it('asks for bookmarks and for an end, and for all objects first where it has no point to go on from', async () => {
    await using server = await RawServer.start((_request, socket) => {
      startChunks(socket);
      endChunks(socket);
    });
    await using client = server.client();
    const onEvent = (): void => undefined;
    await client.watch(configMaps, { from, timeoutSeconds: 7, fieldSelector: 'a=b', onEvent });
    await client.watch(configMaps, { from: { initial: true }, timeoutSeconds: 7, onEvent });
    assert.deepEqual(
      server.requests.map(({ query }) => Object.fromEntries(query)),
      [
        { fieldSelector: 'a=b', watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: '7', resourceVersion: '5' },
        {
          watch: 'true',
          allowWatchBookmarks: 'true',
          timeoutSeconds: '7',
          sendInitialEvents: 'true',
          resourceVersionMatch: 'NotOlderThan',
        },
      ],
    );
  });

  it('resolves when the server ends it after whole lines', async () => {
    const seen = await watch((socket) => {
      startChunks(socket);
      chunk(socket, eventLine('ADDED', configMap('a', '6')) + eventLine('DELETED', configMap('a', '7')));
      endChunks(socket);
    });
    assert.equal(seen.error, undefined);
    assert.deepEqual(namesIn(seen), ['ADDED a', 'DELETED a']);
  });

  it('puts lines together however they are cut, even within a character', async () => {
    const whole = Buffer.from(eventLine('ADDED', configMap('a', '6', { x: 'ü€😀' })) + eventLine('ADDED', configMap('b', '7')));
    const seen = await watch((socket) => {
      startChunks(socket);
      for (const byte of whole) {
        socket.write('1\r\n');
        socket.write(Buffer.from([byte]));
        socket.write('\r\n');
      }
      endChunks(socket);
    });
    assert.deepEqual(namesIn(seen), ['ADDED a', 'ADDED b']);
    assert.deepEqual(JSON.parse(JSON.stringify(seen.events[0])).object.data, { x: 'ü€😀' });
  });

  it('delivers what came before half a line and a reset', async () => {
    const seen = await watch((socket) => {
      startChunks(socket);
      chunk(socket, `${eventLine('ADDED', configMap('a', '6'))}{"type":"ADD`);
      setImmediate(() => socket.resetAndDestroy());
    });
    assert.deepEqual(namesIn(seen), ['ADDED a']);
    assertError(seen.error, { code: 'kube-cut', answered: true });
  });

  it('takes half a line before a proper end for a cut', async () => {
    const seen = await watch((socket) => {
      startChunks(socket);
      chunk(socket, '{"type":"ADD');
      endChunks(socket);
    });
    assertError(seen.error, { code: 'kube-cut' });
  });

  for (const garbage of [
    'garbage',
    '[]',
    '{"type":"FLED","object":{}}',
    '{"type":"ADDED"}',
    '{"type":"ADDED","object":{"metadata":{"name":"a"}}}',
    '{"type":"ADDED","object":{"metadata":{"name":"../a","resourceVersion":"1"}}}',
    '{"type":"ADDED","object":{"metadata":{"name":"a","namespace":7,"resourceVersion":"1"}}}',
    '{"type":"BOOKMARK","object":{"metadata":{}}}',
  ]) {
    it(`rejects ${garbage}, after what came before it`, async () => {
      const seen = await watch((socket) => {
        startChunks(socket);
        chunk(socket, `${eventLine('ADDED', configMap('a', '6'))}${garbage}\n${eventLine('ADDED', configMap('b', '7'))}`);
      });
      assert.deepEqual(namesIn(seen), ['ADDED a']);
      assertError(seen.error, { name: 'TransportError', code: 'kube-malformed' });
    });
  }

  it('rejects with the Status of an ERROR event', async () => {
    const seen = await watch((socket) => {
      startChunks(socket);
      chunk(socket, eventLine('ERROR', failure(410, 'Expired', 'too old resource version: 5 (9)')));
    });
    assertError(seen.error, { code: 'kube-api', status: 410, reason: 'Expired', statusMessage: 'too old resource version: 5 (9)' });
  });

  it('rejects with the Status of an answer that is no watch', async () => {
    const seen = await watch((socket) => answer(socket, 403, failure(403, 'Forbidden', 'no')));
    assertError(seen.error, { code: 'kube-api', status: 403, reason: 'Forbidden' });
  });

  it('reads a bookmark, and whether it closes the initial objects', async () => {
    const seen = await watch((socket) => {
      startChunks(socket);
      chunk(socket, eventLine('BOOKMARK', { metadata: { resourceVersion: '8' } }));
      chunk(socket, eventLine('BOOKMARK', { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } }));
      endChunks(socket);
    });
    assert.deepEqual(seen.events, [
      { type: 'BOOKMARK', resourceVersion: '8', initialEventsEnd: false },
      { type: 'BOOKMARK', resourceVersion: '9', initialEventsEnd: true },
    ]);
  });

  it('counts as stalled when nothing arrives for the idle time', async () => {
    const seen = await watch(
      (socket) => {
        startChunks(socket);
        chunk(socket, eventLine('ADDED', configMap('a', '6')));
      },
      { idle: 500 },
    );
    assert.deepEqual(namesIn(seen), ['ADDED a']);
    assertError(seen.error, { code: 'kube-timeout', answered: true });
  });

  it('ends with what its reader throws', async () => {
    await using server = await RawServer.start((_request, socket) => {
      startChunks(socket);
      chunk(socket, eventLine('ADDED', configMap('a', '6')));
    });
    await using client = server.client();
    const onEvent = (): never => {
      throw new RangeError('no more');
    };
    await assert.rejects(client.watch(configMaps, { from, timeoutSeconds: 60, onEvent }), RangeError);
    await eventually('the connection is closed', () => server.open === 0);
  });

  it('refuses a line without end before it fills the memory', async () => {
    const megabyte = 'x'.repeat(1_048_576);
    const seen = await watch((socket) => {
      startChunks(socket);
      const more = (): void => {
        if (socket.destroyed) return;
        chunk(socket, megabyte);
        setImmediate(more);
      };
      more();
    });
    assertError(seen.error, { code: 'kube-too-large' });
  });
});
