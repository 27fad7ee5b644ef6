import { counter } from '../../../telemetry/metrics.ts';

/** Counts the traffic of a connection, during its life and after. @returns a function to call at its end */
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
  counter(`earshot_router_links_${direction}_bytes_total`, `Bytes ${direction} on links, within TLS.`, [], (metric) => {
    let total = ended[of];
    for (const connection of connections) total += connection[of];
    // A closing connection may finally report less than was counted before.
    metric.inc(Math.max(0, total - counted));
    counted = Math.max(counted, total);
  });
}
