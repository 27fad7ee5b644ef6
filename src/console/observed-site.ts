/** Figures that the routers of another site share, as the console shows them (pure). They are untrusted. */
import { limitTable } from '../limits/table.ts';
import type { AdjacentSite, ObservedRouter, RouterFigures } from '../router/contract.ts';
import { LINK_RANK, readFigures } from '../router/shared-figures/figures-format.ts';
import { fieldsIn, recordsIn, textIn } from '../text/untrusted-fields.ts';
import type { Rates, SiteFiguresView } from './contract.ts';

export interface ObservedSite {
  /** Answers of its routers; none if the router of this site gave no answer. */
  readonly routers: readonly ObservedRouter[];
  /** Its best link to each other site, as it reports them. */
  readonly links: ReadonlyMap<string, AdjacentSite>;
  readonly figures?: SiteFiguresView;
  /** Reason why figures are missing. */
  readonly noFigures?: string;
  /** Code of that reason, if a router gave one. */
  readonly code?: string;
}

const [MOST_NAME, MOST_MESSAGE] = [63, 300];
const COUNTS = ['opened', 'failed', 'up', 'down'] as const;

/** Reads the answer of `POST /v1/observe`. */
export function readObserved(answer: unknown): readonly ObservedRouter[] {
  return recordsIn(fieldsIn(answer)['routers'], limitTable.routersOfSite.value).map((fields) => {
    const router = textIn(fields, 'router', MOST_NAME) ?? '';
    const figures = readFigures(fields['figures']);
    if (figures !== undefined) return { router, figures };
    const [code, message] = [textIn(fields, 'code', MOST_NAME), textIn(fields, 'message', MOST_MESSAGE)];
    return { router, code: code ?? 'protocol', message: message ?? 'the answer is not valid' };
  });
}

/** @param before earlier answers, for rates */
export function observedSite(routers: readonly ObservedRouter[], before: readonly ObservedRouter[] = []): ObservedSite {
  const found = routers.filter((router) => 'figures' in router);
  const silent = routers.find((router) => 'code' in router);
  if (found.length === 0) {
    const reason =
      silent === undefined ? { noFigures: 'no router of the site answered' } : { noFigures: silent.message, code: silent.code };
    return { routers, links: new Map(), ...reason };
  }
  const earlier = new Map(before.flatMap((each) => ('figures' in each ? [[each.router, each.figures] as const] : [])));
  const rates = found.flatMap(({ router, figures }) => ratesSince(figures, earlier.get(router)) ?? []);
  const delays = found.flatMap(({ figures }) => figures.eventLoopDelay ?? []);
  return {
    // A site may list thousands of links.
    routers: routers.map((each) => ('figures' in each ? { ...each, figures: { ...each.figures, links: [] } } : each)),
    links: bestLinks(found.flatMap(({ figures }) => figures.links)),
    figures: {
      open: sum(found.map(({ figures }) => figures.open)),
      ...(rates.length === 0 ? {} : { rates: sumOfRates(rates) }),
      ...(delays.length === 0 ? {} : { eventLoopDelay: Math.max(...delays) }),
      missing: routers.length - found.length,
    },
  };
}

/** The router of this site did not answer. */
export function unknownSite(message: string): ObservedSite {
  return { routers: [], links: new Map(), noFigures: message };
}

/** Seconds between two different answers, at least. Invented shorter times would make rates infinite. */
const LEAST_BETWEEN = 0.1;

/** @returns undefined without an earlier answer of the same start of the router */
function ratesSince(now: RouterFigures, before: RouterFigures | undefined): Rates | undefined {
  const seconds = before === undefined ? 0 : (now.uptime - before.uptime) / 1_000;
  if (before === undefined || seconds < LEAST_BETWEEN || COUNTS.some((name) => now[name] < before[name])) return undefined;
  const [opened = 0, failed = 0, up = 0, down = 0] = COUNTS.map((name) => (now[name] - before[name]) / seconds);
  return { opened, failed, up, down };
}

function sumOfRates(rates: readonly Rates[]): Rates {
  const [opened = 0, failed = 0, up = 0, down = 0] = COUNTS.map((name) => sum(rates.map((each) => each[name])));
  return { opened: hundredths(opened), failed: hundredths(failed), up: Math.round(up), down: Math.round(down) };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
const hundredths = (number: number): number => Math.round(number * 100) / 100;

function bestLinks(links: readonly AdjacentSite[]): ReadonlyMap<string, AdjacentSite> {
  const best = new Map<string, AdjacentSite>();
  for (const link of links)
    if (LINK_RANK[link.state] > LINK_RANK[best.get(link.site)?.state ?? 'down'] || !best.has(link.site)) best.set(link.site, link);
  return new Map([...best].slice(0, limitTable.observedLinks.value));
}
