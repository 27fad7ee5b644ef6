/** Starts this process once more in its own place, with the flags and the environment that it needs. Does nothing the second time. */
export function tune(): void {
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
 * (docs/adr/0008-own-http2-session.md has what both are worth).
 */
const V8_FLAGS: readonly string[] = ['--max-semi-space-size=2', '--optimize-for-size'];

/** glibc otherwise keeps an arena for each thread (mallopt(3)). */
const ENVIRONMENT: Readonly<Record<string, string>> = { MALLOC_ARENA_MAX: '1' };
