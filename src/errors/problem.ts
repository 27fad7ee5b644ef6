import { catalogue, type ShownAs } from './catalogue.ts';
import { EarshotError } from './earshot-error.ts';

/** Why something does not work: for a status, a log line and a metric. */
export interface Problem {
  readonly code: ShownAs<'condition'>;
  /** Says what is wrong, where, and what to do. */
  readonly message: string;
}

/** Converts an error for a status. A code of Node.js (`EADDRINUSE`) becomes one of the catalogue; the message keeps it. */
export function problemOf(error: unknown): Problem {
  const code = error instanceof EarshotError ? error.code : codeOfSystem(error);
  return { code: isConditionCode(code) ? code : 'failed', message: error instanceof Error ? error.message : String(error) };
}

/** Whether a text is the code of a problem. */
export function isConditionCode(code: string): code is ShownAs<'condition'> {
  return catalogue.get(code)?.[0].includes('condition') === true;
}

function codeOfSystem(error: unknown): Problem['code'] {
  if (!(error instanceof Error) || !('code' in error)) return 'failed';
  // Node.js uses the same codes for files and ports.
  if ((error.code === 'EACCES' || error.code === 'EPERM') && 'syscall' in error && LISTENING.has(String(error.syscall)))
    return 'port-not-permitted';
  return SYSTEM.get(String(error.code)) ?? 'failed';
}

const LISTENING: ReadonlySet<string> = new Set(['listen', 'bind']);

const SYSTEM: ReadonlyMap<string, Problem['code']> = new Map<string, Problem['code']>([
  ['EADDRINUSE', 'port-in-use'],
  ['EADDRNOTAVAIL', 'host-not-local'],
  ['EAFNOSUPPORT', 'host-not-local'],
  ['ENOTFOUND', 'name-unknown'],
  ['EAI_AGAIN', 'name-unknown'],
  ['ECONNREFUSED', 'refused'],
  ['EHOSTUNREACH', 'unreachable'],
  ['ENETUNREACH', 'unreachable'],
  ['ETIMEDOUT', 'timeout'],
  ['ECONNRESET', 'lost'],
  ['EPIPE', 'lost'],
  ...['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE', 'ENOENT', 'ENOTDIR', 'EISDIR', 'EEXIST', 'ELOOP'].map(
    (code) => [code, 'state-unavailable'] as const,
  ),
]);
