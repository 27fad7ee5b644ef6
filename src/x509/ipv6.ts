/** The eight groups of an IPv6 address, hexadecimal, without leading zeros. `address` is one, and has no zone. */
export function groupsOf(address: string): readonly string[] {
  // The URL parser writes every form, the dotted one too, as hexadecimal groups with one `::` at most.
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const head = left === '' ? [] : left.split(':');
  const tail = right === undefined || right === '' ? [] : right.split(':');
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => '0'), ...tail];
}
