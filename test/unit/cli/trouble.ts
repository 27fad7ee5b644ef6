/** Loaded ahead of the program by tests (`--import`): does to its process what a machine may do, when the test says so. */
import { promises } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

export type Trouble =
  | 'throw'
  | 'reject'
  | 'disk-full'
  | 'read-only'
  | 'disk-free'
  | { readonly clock: number }
  | { readonly waits: string };

const { open, mkdir, rename, rm, unlink, chmod } = promises;
const now = Date.now;

function full(): never {
  throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
}

/** As a disk is after an error of its own: what is there can be read. */
function readOnly(): never {
  throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' });
}

process.on('message', (trouble: Trouble) => {
  process.send?.('done');
  if (trouble === 'throw') setImmediate(full);
  else if (trouble === 'reject') void Promise.reject(new Error('an unhandled rejection'));
  else if (trouble === 'disk-full')
    Object.assign(promises, {
      open: async (path: string, flags?: string) => (/[wax]/.test(String(flags)) ? full() : open(path, flags)),
      mkdir: full,
    });
  else if (trouble === 'read-only')
    Object.assign(promises, {
      open: async (path: string, flags?: string) => (/[wax+]/.test(String(flags)) ? readOnly() : open(path, flags)),
      ...Object.fromEntries(['mkdir', 'rename', 'rm', 'unlink', 'chmod'].map((call) => [call, async () => readOnly()])),
    });
  else if (trouble === 'disk-free') Object.assign(promises, { open, mkdir, rename, rm, unlink, chmod });
  // A thread stays in its system call until another process writes to the pipe.
  else if ('waits' in trouble) void open(trouble.waits).catch(() => {});
  else Date.now = () => now() + trouble.clock;
  syncBuiltinESMExports();
});
process.channel?.unref();
