/** Loaded ahead of the program by tests (`--import`): does to its process what a machine may do, when the test says so. */
import { promises } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

export type Trouble = 'throw' | 'reject' | 'disk-full' | 'disk-free' | { readonly clock: number };

const { open, mkdir } = promises;
const now = Date.now;

function full(): never {
  throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
}

process.on('message', (trouble: Trouble) => {
  process.send?.('done');
  if (trouble === 'throw') setImmediate(full);
  else if (trouble === 'reject') void Promise.reject(new Error('nobody takes this'));
  else if (trouble === 'disk-full')
    Object.assign(promises, {
      open: async (path: string, flags?: string) => (/[wax]/.test(String(flags)) ? full() : open(path, flags)),
      mkdir: full,
    });
  else if (trouble === 'disk-free') Object.assign(promises, { open, mkdir });
  else Date.now = () => now() + trouble.clock;
  syncBuiltinESMExports();
});
process.channel?.unref();
