import { counter } from '../../../telemetry/metrics.ts';

/** Counts what a connection carries, now and after its end. @returns what to call at its end */
export function countTraffic(connection: { readonly bytesRead: number; readonly bytesWritten: number }): () => void {
  connections.add(connection);
  return () => {
    connections.delete(connection);
    ended.bytesRead += connection.bytesRead;
    ended.bytesWritten += connection.bytesWritten;
  };
}

const ended = { bytesRead: 0, bytesWritten: 0 };
const connections = new Set<{ readonly bytesRead: number; readonly bytesWritten: number }>();

for (const [direction, of] of [
  ['received', 'bytesRead'],
  ['sent', 'bytesWritten'],
] as const) {
  let counted = 0;
  counter(`earshot_router_links_${direction}_bytes_total`, `Bytes that were ${direction} on links, within TLS.`, [], (made) => {
    let total = ended[of];
    for (const connection of connections) total += connection[of];
    // A connection that is closing may have been counted with more than it says at last.
    made.inc(Math.max(0, total - counted));
    counted = Math.max(counted, total);
  });
}
