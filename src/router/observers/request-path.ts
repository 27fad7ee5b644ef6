import { limitTable } from '../../limits/table.ts';
import { printableAscii } from '../../text/printable.ts';

const ELLIPSIS = 3;
const MOST = limitTable.requestPath.value - ELLIPSIS;

/** Begins a target that names a host without a scheme. An observer may have cut one in the middle of long user information. */
const USER_INFORMATION = new RegExp(`^//(?:[^/?#]+@|[^/?#]{${MOST},}$)`);

/** Path of a request target (RFC 9112 section 3.2) without its query and user information, which may be secret; empty without a path. */
export function pathOfTarget(target: string): string {
  if (target === '') return '';
  const local = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(USER_INFORMATION, '//');
  const [path = ''] = local.split(/[?#]/, 1);
  if (!path.startsWith('/') && path !== '*') return '';
  // A slice of the target would keep all of it in memory.
  return Buffer.from(printableAscii(path, MOST), 'latin1').toString('latin1');
}
