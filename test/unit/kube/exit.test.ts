import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { it } from 'node:test';

import { answer, configMap, RawServer, startChunks } from './raw-server.ts';

const program = fileURLToPath(new URL('everything-started.ts', import.meta.url));

it('a process exits once all parts were stopped', async () => {
  await using server = await RawServer.start((request, socket) => {
    if (request.query.has('watch')) startChunks(socket);
    else if (request.path.includes('/leases')) answer(socket, 200, configMap('lease', '1'));
    else answer(socket, 201, configMap('a', '1'));
  });
  const child = spawn(process.execPath, [program, server.url], { stdio: ['ignore', 'pipe', 'inherit'] });
  const deadline = setTimeout(() => child.kill('SIGKILL'), 20_000);
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  // The arguments of a child process's close event.
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  clearTimeout(deadline);
  assert.deepEqual([said.trim(), code, signal], ['everything has ended', 0, null]);
});
