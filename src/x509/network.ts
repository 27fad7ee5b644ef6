import { isIPv6 } from 'node:net';
import { groupsOf } from './alternative-names.ts';

/** Groups addresses for limits: the holder of one IPv6 address usually has its whole /64 (RFC 6177). */
export function networkOf(address: string): string {
  const [bare = ''] = address.split('%', 1);
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare) ?? [];
  if (mapped !== undefined || !isIPv6(bare)) return mapped ?? bare;
  return `${groupsOf(bare).slice(0, 4).join(':')}::/64`;
}
