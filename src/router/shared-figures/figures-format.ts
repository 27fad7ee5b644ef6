/** Figures as JSON between routers (pure). Received figures are untrusted. */
import { limitTable } from '../../limits/table.ts';
import { isUuid } from '../../text/names.ts';
import { fieldsIn, numberIn, recordsIn, textIn, type UntrustedFields } from '../../text/untrusted-fields.ts';
import type { AdjacentSite, RouterFigures } from '../contract.ts';

const MOST_VERSION = 64;
const STATES = ['up', 'silent', 'down'] as const satisfies readonly AdjacentSite['state'][];

/** States of links in ascending order of use. */
export const LINK_RANK = { down: 0, silent: 1, up: 2 } as const satisfies Record<AdjacentSite['state'], number>;

export function formatFigures(figures: RouterFigures): Buffer {
  return Buffer.from(JSON.stringify(figures));
}

/** @returns undefined if a required number is missing or invalid. Invalid links are left out, unknown members ignored. */
export function parseFigures(body: Buffer): RouterFigures | undefined {
  try {
    return readFigures(JSON.parse(body.toString()));
  } catch {
    return undefined;
  }
}

/** Reads figures that another process has parsed. */
export function readFigures(value: unknown): RouterFigures | undefined {
  const fields = fieldsIn(value);
  const [uptime, open, opened, failed, up, down] = ['uptime', 'open', 'opened', 'failed', 'up', 'down'].map((name) =>
    countIn(fields, name),
  );
  if (uptime === undefined || open === undefined || opened === undefined || failed === undefined) return undefined;
  if (up === undefined || down === undefined) return undefined;
  const eventLoopDelay = countIn(fields, 'eventLoopDelay');
  return {
    version: textIn(fields, 'version', MOST_VERSION) ?? '',
    uptime,
    open,
    opened,
    failed,
    up,
    down,
    ...(eventLoopDelay === undefined ? {} : { eventLoopDelay }),
    links: recordsIn(fields['links'], limitTable.observedLinks.value).flatMap(linkIn),
  };
}

function linkIn(fields: UntrustedFields): readonly AdjacentSite[] {
  const site = textIn(fields, 'site', 36);
  const state = STATES.find((known) => known === fields['state']);
  if (site === undefined || !isUuid(site) || state === undefined) return [];
  const [cost, roundTrip] = [countIn(fields, 'cost'), countIn(fields, 'roundTrip')];
  return [{ site, state, ...(cost === undefined ? {} : { cost }), ...(roundTrip === undefined ? {} : { roundTrip }) }];
}

/** Bounded, so that sums of several routers stay numbers. */
function countIn(fields: UntrustedFields, name: string): number | undefined {
  const number = numberIn(fields, name);
  return number !== undefined && number >= 0 && number <= Number.MAX_SAFE_INTEGER ? number : undefined;
}
