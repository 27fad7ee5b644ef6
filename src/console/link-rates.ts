/** Bytes a second of links, from what routers count since a link came up (pure). */
import type { Figures, LinkFigureFacts } from './facts.ts';

export interface LinkSample {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly links: Figures['links'];
}

/** @param earlier samples, the oldest first @returns the figures, with rates of links that one of those samples has too */
export function addLinkRates({ at, links }: LinkSample, earlier: readonly LinkSample[]): Figures['links'] {
  return new Map(
    [...links].map(([id, figures]) => {
      const before = earlier.find((sample) => isLater(figures, sample.links.get(id)));
      const rates = before && ratesSince(figures, before.links.get(id), (at - before.at) / 1_000);
      return [id, rates === undefined ? figures : { ...figures, rates }] as const;
    }),
  );
}

/** Whether both are of one link that was up in between. IDs of incoming links are used again. */
function isLater(now: LinkFigureFacts, before: LinkFigureFacts | undefined): boolean {
  if (before === undefined || now.since !== before.since) return false;
  const [sent, received] = changesOf(now, before);
  return sent >= 0 && received >= 0;
}

function ratesSince(now: LinkFigureFacts, before: LinkFigureFacts = {}, seconds: number): LinkFigureFacts['rates'] {
  const [sent, received] = changesOf(now, before);
  return seconds <= 0 ? undefined : { sent: Math.round(sent / seconds), received: Math.round(received / seconds) };
}

/** NaN if one of them is not known. */
const changesOf = (now: LinkFigureFacts, before: LinkFigureFacts): readonly [sent: number, received: number] => [
  (now.sent ?? NaN) - (before.sent ?? NaN),
  (now.received ?? NaN) - (before.received ?? NaN),
];
