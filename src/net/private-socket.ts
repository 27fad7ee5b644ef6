/**
 * Calls a function that creates a Unix socket, which only this user can open from the first moment. Node.js creates the socket during the
 * call of `listen`. A chmod afterwards would leave it open for a while.
 */
export function createPrivately<T>(create: () => T): T {
  const umask = process.umask(0o177);
  try {
    return create();
  } finally {
    process.umask(umask);
  }
}
