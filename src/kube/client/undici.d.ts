/** Only the pool: importing the whole package costs another 7 MB of resident memory (fetch, WebSocket, caches). */
declare module 'undici/lib/dispatcher/pool.js' {
  import type { Pool } from 'undici';

  const pool: typeof Pool;
  export default pool;
}
