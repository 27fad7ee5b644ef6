/** How the one of several replicas that leads runs a controller. */
import type { Logger } from '../../telemetry/log.ts';
import { gauge } from '../../telemetry/metrics.ts';
import { aborted } from '../../work/pause.ts';
import type { KubeClient } from '../contract.ts';
import { FencedClient } from '../lease/fenced-client.ts';
import { whileLeading } from '../lease/lease.ts';

const leader = gauge('earshot_leader', '1 while this replica leads.');

/** The Lease that the replicas share. */
export interface Election {
  /** A client of the election's own, so that a renewal never waits behind a thousand other writes. */
  readonly connect: (signal: AbortSignal) => Promise<KubeClient>;
  readonly namespace: string;
  readonly name: string;
  /** Different for each replica: the pod's name. */
  readonly identity: string;
}

export interface Controller {
  /** Waits for running reconciles, up to the deadline. */
  stop(deadlineMilliseconds: number): Promise<void>;
}

/** What running reconciles get to end by themselves, in milliseconds. */
const STOP_DEADLINE = 10_000;

/** A part of the program that the one leader runs. `client` writes only while this replica leads. */
export type Led = (leading: AbortSignal, client: KubeClient) => Promise<void>;

/**
 * Runs `work` while this replica leads; without an election it always does. Rejects with a LeaseLostError when the lease
 * is lost: then the process must end, since what it was doing must not go on.
 */
export async function runElected(
  parts: { readonly election: Election | undefined; readonly client: KubeClient; readonly stopped: AbortSignal; readonly log: Logger },
  work: Led,
): Promise<void> {
  const { election, stopped, log } = parts;
  if (election === undefined) return work(stopped, parts.client);
  const { connect, ...lease } = election;
  const end = new AbortController();
  await using client = await connect(end.signal);
  await whileLeading(
    {
      ...lease,
      client,
      signal: stopped,
      onChange: (event, holder) => log.info({ event, holder }, 'leader election'),
      onTrouble: (error) => log.warn({ error }, 'the lease cannot be read or renewed'),
    },
    (leading, stillLeading) => work(leading, new FencedClient(parts.client, stillLeading)),
  );
  end.abort();
}

/** Starts a controller, and stops it once `leading` is aborted: in good order where the process was told to stop. */
export async function runWhileLeading(
  { leading, stopped, log }: { readonly leading: AbortSignal; readonly stopped: AbortSignal; readonly log: Logger },
  start: () => Promise<Controller>,
): Promise<void> {
  let controller: Controller | undefined;
  try {
    controller = await start();
    leader.set(1);
    log.info('leading');
    await aborted(leading);
  } catch (error) {
    if (!leading.aborted) throw error;
  } finally {
    // After a lost lease another replica may lead soon: nothing is waited for.
    await controller?.stop(stopped.aborted ? STOP_DEADLINE : 0);
    leader.set(0);
  }
}
