import type { LinkFigures } from '../contract.ts';
import type { Link } from './link.ts';

/** Figures of a link for the router API; undefined unless it is up. */
export function figuresOf({ state, upSince, expires, roundTrip, bytes, openStreams, queued }: Link): LinkFigures | undefined {
  if (state !== 'up') return undefined;
  return {
    ...(upSince === undefined ? {} : { since: upSince }),
    ...(Number.isFinite(expires) ? { certificateExpires: expires } : {}),
    ...(roundTrip === undefined ? {} : { roundTrip }),
    bytes,
    streams: openStreams,
    queued,
  };
}
