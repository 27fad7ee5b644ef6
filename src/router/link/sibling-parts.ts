/** States of the listeners and connectors of a container network's router, sent to the others of its site: `docs/protocol.md`, section 6. */
import { isConditionCode, type Problem } from '../../errors/problem.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable } from '../../text/printable.ts';
import type { ConnectorState, ListenerState, LostSite, ServerHealth, SiblingPartState } from '../contract.ts';
import { SIBLING_PART } from '../wire.ts';
import { LinkError } from './link-errors.ts';
import { textIn } from './sibling-links.ts';
import { MOST_REPORTED_NAME, MOST_REPORTED_PROBLEM, parseReport, type ReportFormat } from './sibling-reports.ts';

/** Most elements of each list, so that a report fits into a message. */
const MOST_LISTED = 64;

export const siblingPartFormat: ReportFormat<SiblingPartState, SiblingPartState> = {
  type: SIBLING_PART,
  write: (name, state) => JSON.stringify({ part: name, ...(state === undefined ? {} : short(state)) }),
  read: readSiblingPart,
};

/** Lists as long as a receiver reads them. */
function short({ listener, ...others }: SiblingPartState): object {
  return { ...others, listener: listenerIn(listener) };
}

/** @returns `state` undefined if none is known. @throws LinkError if the message is invalid */
export function readSiblingPart(message: Buffer): { readonly name: string; readonly state: SiblingPartState | undefined } {
  const value = parseReport(message);
  const name = isRecord(value) ? textIn(value['part'], MOST_REPORTED_NAME) : undefined;
  if (!isRecord(value) || name === undefined)
    throw new LinkError('protocol', 'The peer sent a report that names no listener or connector.');
  const [listener, connector] = [listenerIn(value['listener']), connectorIn(value['connector'])];
  if (listener === undefined && connector === undefined) return { name, state: undefined };
  return { name, state: { ...(listener === undefined ? {} : { listener }), ...(connector === undefined ? {} : { connector }) } };
}

function listenerIn(value: unknown): ListenerState | undefined {
  if (!isRecord(value) || typeof value['listening'] !== 'boolean') return undefined;
  const { listening, reachableKeys, refusedBy, lostSites, problem } = value;
  const refused = listIn(refusedBy, nameIn);
  const lost = listIn(lostSites, lostSiteIn);
  return {
    listening,
    reachableKeys: listIn(reachableKeys, nameIn),
    ...(refused.length === 0 ? {} : { refusedBy: refused }),
    ...(lost.length === 0 ? {} : { lostSites: lost }),
    ...withProblem(problem),
  };
}

function connectorIn(value: unknown): ConnectorState | undefined {
  if (!isRecord(value) || typeof value['matched'] !== 'boolean') return undefined;
  const servers = serversIn(value['servers']);
  return { matched: value['matched'], ...withProblem(value['problem']), ...(servers === undefined ? {} : { servers }) };
}

function serversIn(value: unknown): ServerHealth | undefined {
  if (!isRecord(value)) return undefined;
  if (value['kind'] === 'untried') return { kind: 'untried' };
  const problem = problemIn(value['problem']);
  return value['kind'] === 'failing' && problem !== undefined ? { kind: 'failing', problem, worked: value['worked'] === true } : undefined;
}

function lostSiteIn(value: unknown): LostSite | undefined {
  if (!isRecord(value)) return undefined;
  const [routingKey, siteId, siteName] = [nameIn(value['routingKey']), nameIn(value['siteId']), nameIn(value['siteName'])];
  const { since, reason } = value;
  if (routingKey === undefined || siteId === undefined || !Number.isSafeInteger(since) || typeof reason !== 'string') return undefined;
  return { routingKey, siteId, siteName: siteName ?? siteId, since: Number(since), reason: printable(reason, MOST_REPORTED_PROBLEM) };
}

function withProblem(value: unknown): { readonly problem?: Problem } {
  const problem = problemIn(value);
  return problem === undefined ? {} : { problem };
}

function problemIn(value: unknown): Problem | undefined {
  if (!isRecord(value) || typeof value['message'] !== 'string') return undefined;
  const { code, message } = value;
  return { code: typeof code === 'string' && isConditionCode(code) ? code : 'failed', message: printable(message, MOST_REPORTED_PROBLEM) };
}

function listIn<T>(value: unknown, itemIn: (item: unknown) => T | undefined): readonly T[] {
  return Array.isArray(value) ? value.slice(0, MOST_LISTED).flatMap((item: unknown) => itemIn(item) ?? []) : [];
}

const nameIn = (value: unknown): string | undefined => textIn(value, MOST_REPORTED_NAME);
