import { limitTable } from '../../limits/table.ts';
import { printableAscii } from '../../text/printable.ts';

const ELLIPSIS = 3;
const MOST = limitTable.requestPath.value - ELLIPSIS;

/** Path of a request target (RFC 9112 section 3.2) without its query and user information, which may be secret; empty without a path. */
export function pathOfTarget(target: string): string {
  if (target === '') return '';
  const local = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  const [path = ''] = local.split(/[?#]/, 1);
  if (!path.startsWith('/') && path !== '*') return '';
  // A slice of the target would keep all of it in memory.
  return Buffer.from(printableAscii(path, MOST), 'latin1').toString('latin1');
}
