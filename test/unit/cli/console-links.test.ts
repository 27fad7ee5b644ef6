import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { serveSocketApi } from '../../../src/agent/api/serve.ts';
import { serveConsoleLinks } from '../../../src/cli/actions/console-links.ts';
import { Namespace } from './namespace.ts';

const LINK = 'http://127.0.0.1:8090/#t=Vr8wXv0M1kq1oZbBsVq2mA';

describe('console link', () => {
  it('prints a new link of the console service each time', async () => {
    await using west = await Namespace.make();
    let count = 0;
    await using _served = await serveConsoleLinks(west.layout, () => `${LINK}${++count}`);
    assert.deepEqual((await west.earshot(['console', 'link'])).out, `${LINK}1\n`);
    const { code, out, err } = await west.earshot(['console', 'link', '-n', 'west']);
    assert.deepEqual([code, out, err], [0, `${LINK}2\n`, 'This link works once, within five minutes:\n']);
  });

  it('says how to start a service if none runs, or one was killed', async () => {
    await using west = await Namespace.make();
    const none = await west.earshot(['console', 'link']);
    assert.equal(none.code, 6);
    assert.match(none.err, /^No console service runs for the namespace west\. Start one with `earshot -n west system network-observer`/);
    const served = await serveConsoleLinks(west.layout, () => LINK);
    await served[Symbol.asyncDispose]();
    assert.equal((await west.earshot(['console', 'link'])).code, 6);
  });

  it('is issued through a socket that only its user can open from the first moment, whatever the umask is', async () => {
    await using west = await Namespace.make();
    await mkdir(west.layout.runtime.run, { recursive: true });
    const umask = process.umask(0);
    try {
      const serving = serveSocketApi({ answer: () => ({ status: 200, body: {} }) }, west.layout.runtime.console);
      const { mode } = statSync(west.layout.runtime.console);
      await (await serving)[Symbol.asyncDispose]();
      assert.deepEqual([mode & 0o777, process.umask()], [0o600, 0]);
    } finally {
      process.umask(umask);
    }
  });

  it('refuses an answer that is not a link', async () => {
    await using west = await Namespace.make();
    await mkdir(west.layout.runtime.run, { recursive: true });
    const server = createServer((_, response) => void response.end('{"link":"\\u001b]0;x"}')).listen(west.layout.runtime.console);
    await once(server, 'listening');
    const { code, out, err } = await west.earshot(['console', 'link']);
    server.close();
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, /gave no link: the answer has no link/);
  });
});

describe('the socket of a console service', () => {
  it('can be opened by its user only', async () => {
    await using west = await Namespace.make();
    await using _served = await serveConsoleLinks(west.layout, () => LINK);
    const modes = [west.layout.runtime.run, west.layout.runtime.console].map(async (path) => (await stat(path)).mode & 0o777);
    assert.deepEqual(await Promise.all(modes), [0o700, 0o600]);
  });

  it('replaces what a killed service left', async () => {
    await using west = await Namespace.make();
    await mkdir(west.layout.runtime.run, { recursive: true });
    await writeFile(west.layout.runtime.console, '');
    await using _served = await serveConsoleLinks(west.layout, () => LINK);
    assert.equal((await west.earshot(['console', 'link'])).out, `${LINK}\n`);
  });

  it('is not taken from a service that runs', async () => {
    await using west = await Namespace.make();
    await using _served = await serveConsoleLinks(west.layout, () => LINK);
    await assert.rejects(
      serveConsoleLinks(west.layout, () => 'other'),
      { code: 'exists', message: /already runs for the namespace west/ },
    );
    assert.equal((await west.earshot(['console', 'link'])).out, `${LINK}\n`);
  });
});
