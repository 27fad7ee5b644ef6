/** States of the links that each router of a site opens, exchanged between these routers: see `docs/protocol.md`, section 6. */
import { isRecord } from '../../text/is-record.ts';
import { isOneLine, printable } from '../../text/printable.ts';
import type { LinkState, SiblingLinkState } from '../contract.ts';
import { SIBLING_LINK } from '../wire.ts';
import { LinkError } from './link-errors.ts';
import { MOST_REPORTED_NAME, MOST_REPORTED_PROBLEM, parseReport, type ReportFormat } from './sibling-reports.ts';

export const siblingLinkFormat: ReportFormat<LinkState, SiblingLinkState> = {
  type: SIBLING_LINK,
  write: (name, state) => JSON.stringify({ link: name, ...(state === undefined ? {} : saidOf(state)) }),
  read: readSiblingLink,
};

/** Empty while a link is being opened for the first time: it is neither up nor failed. */
function saidOf({ operational, remoteSiteId, remoteSiteName, problem }: LinkState): object {
  if (operational) return { operational, remoteSiteId, remoteSiteName };
  return problem === undefined ? {} : { operational, problem: printable(problem.message, MOST_REPORTED_PROBLEM) };
}

/** @returns `state` undefined if none is known. @throws LinkError if the message is invalid */
export function readSiblingLink(message: Buffer): { readonly name: string; readonly state: SiblingLinkState | undefined } {
  const value = parseReport(message);
  const name = isRecord(value) ? textIn(value['link'], MOST_REPORTED_NAME) : undefined;
  if (!isRecord(value) || name === undefined) throw new LinkError('protocol', 'The peer sent an invalid report about links.');
  const { operational } = value;
  if (typeof operational !== 'boolean') return { name, state: undefined };
  const remoteSiteId = textIn(value['remoteSiteId'], MOST_REPORTED_NAME);
  const remoteSiteName = textIn(value['remoteSiteName'], MOST_REPORTED_NAME);
  const problem = typeof value['problem'] === 'string' ? printable(value['problem'], MOST_REPORTED_PROBLEM) : undefined;
  return {
    name,
    state: {
      operational,
      ...(remoteSiteId === undefined ? {} : { remoteSiteId }),
      ...(remoteSiteName === undefined ? {} : { remoteSiteName }),
      ...(problem === undefined ? {} : { problem }),
    },
  };
}

/** Text of one line, at most `most` characters and not empty. */
export function textIn(value: unknown, most: number): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= most && isOneLine(value) ? value : undefined;
}
