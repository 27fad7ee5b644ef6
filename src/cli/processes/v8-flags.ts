/**
 * Starts this process once more in its own place, with the flags and the environment that it needs. Does nothing the second time. Before anything is
 * loaded for long, and before signals are waited for: who comes after it has not heard of them.
 */
export function applyV8Flags(): void {
  const missingFlags = V8_FLAGS.filter((flag) => !process.execArgv.some((given) => given.split('=', 1)[0] === flag.split('=', 1)[0]));
  const missing = Object.entries(ENVIRONMENT).filter(([name]) => process.env[name] === undefined);
  const [, script] = process.argv;
  // Set by ourselves: whatever the system makes of it, there is no second time.
  if (process.env[TUNED] !== undefined || process.execve === undefined || script === undefined) return;
  if (missingFlags.length === 0 && missing.length === 0) return;
  const environment = { ...process.env, ...Object.fromEntries(missing), [TUNED]: '1' };
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...missingFlags, script, ...process.argv.slice(2)], environment);
}

const TUNED = 'EARSHOT_TUNED';

/**
 * What V8 needs told to stay small: a young generation of 2 MB instead of 16, and memory before speed where it has the choice
 * (docs/adr/0008-own-http2-session.md has what both are worth). So little is collected by the thread that needs it: on a busy machine it waited
 * longer for others to help than the work takes. `gc-policy.ts` collects what is left over.
 */
const V8_FLAGS: readonly string[] = ['--max-semi-space-size=2', '--optimize-for-size', '--no-parallel-scavenge', '--expose-gc'];

/**
 * mallopt(3). glibc otherwise keeps an arena for each thread, and what was freed stays in the process, where it lies below something small that lives
 * on: hundreds of megabytes after an attack. Buffers from 24 KiB on, which those of a TLS record do not reach, get mappings of their own, which are
 * given back; at most half of the 65,530 that a process may have (vm.max_map_count), since V8 needs some for its heap.
 */
const ENVIRONMENT: Readonly<Record<string, string>> = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '24576', MALLOC_MMAP_MAX_: '32768' };
