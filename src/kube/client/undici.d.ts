/** The pool alone: importing the whole package costs 7 MB of resident memory more (fetch, WebSocket, caches). */
declare module 'undici/lib/dispatcher/pool.js' {
  import type { Pool } from 'undici';

  const pool: typeof Pool;
  export default pool;
}
