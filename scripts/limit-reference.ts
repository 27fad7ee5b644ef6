/** docs/reference/limits.md, from the table in src/limits/table.ts. */
import { FairShare } from '../src/limits/fair-share.ts';
import type { Rate } from '../src/limits/rate-limiter.ts';
import { limitSections, limitTable, type Limit, type LimitValue } from '../src/limits/table.ts';

export function limitReference(): string {
  const sections = Object.entries(limitSections).flatMap(([title, limits]) => [
    `## ${title}`,
    ...before(title),
    table(Object.values(limits)),
  ]);
  return `${[INTRODUCTION.trim(), ...sections, SHARES.trim(), shares()].join('\n\n')}\n`;
}

function before(title: string): readonly string[] {
  return title === 'Clusters' ? [CLUSTERS.trim()] : [];
}

function table(limits: readonly Limit[]): string {
  const rows = limits.map((limit) => {
    const { name, note = '', of, beyond, metric } = limit;
    return `| ${name} | ${formatValue(limit)}${note} | ${of} | ${beyond} | ${metric === undefined ? '' : `\`${metric}\``} |`;
  });
  return ['| limit | value | of | beyond it | metric |', '| --- | --- | --- | --- | --- |', ...rows].join('\n');
}

export function formatValue(limit: LimitValue): string {
  switch (limit.unit) {
    case 'count':
      return formatCount(limit.value);
    case 'bytes':
      return formatBytes(limit.value);
    case 'milliseconds':
      return formatTime(limit.value);
    case 'part':
      return PARTS[limit.value] ?? `1/${limit.value}`;
    case 'rate':
      return formatRate(limit.value, formatCount);
    case 'byteRate':
      return formatRate(limit.value, formatBytes);
    case 'time':
      return `${limit.value.part * 100} % of the time, and ${limit.value.burst} ms at once`;
    case 'pause':
      return `doubles from ${formatTime(limit.value.first)} to ${formatTime(limit.value.max)}`;
  }
}

const formatCount = (count: number): string => count.toLocaleString('en-US');

function formatBytes(bytes: number): string {
  const [size, unit] = bytes < 1 << 20 ? [bytes / 1024, 'KiB'] : [bytes / (1 << 20), 'MiB'];
  return `${formatCount(size)} ${unit}`;
}

function formatTime(milliseconds: number): string {
  const [most, unit] = UNITS.find(([length]) => milliseconds >= length && milliseconds % length === 0) ?? [1, 'ms'];
  const number = milliseconds / most;
  return unit === 'days' && number === 1 ? '1 day' : `${number} ${unit}`;
}

function formatRate({ burst, perSecond }: Rate, format: (value: number) => string): string {
  const rate =
    perSecond >= 1
      ? `${format(perSecond)} each second`
      : perSecond === 1 / 60
        ? 'one each minute'
        : `one each ${formatTime(Math.round(1_000 / perSecond))}`;
  return burst === perSecond ? rate : `${format(burst)} at once, then ${rate}`;
}

/** How many streams of a link the first greedy routing keys get, and the least that each of the next ones gets. */
function shares(): string {
  const share = new FairShare(limitTable.concurrentStreams.value);
  const greedy = ['first', 'second', 'third'].map((key) => {
    const room = Math.floor(share.room(key));
    share.change(key, room);
    return room;
  });
  const rows = greedy.map((room, index) => `| ${index + 1} | ${formatCount(room)} |`);
  return ['| greedy routing keys | connections of the last one |', '| --- | --- |', ...rows].join('\n');
}

const DAY = 86_400_000;
const UNITS: readonly (readonly [number, string])[] = [
  [DAY, 'days'],
  [60_000, 'min'],
  [1_000, 's'],
];

const PARTS: Readonly<Record<number, string>> = { 2: 'half', 4: 'a quarter', 8: 'an eighth', 20: '5 %' };

const INTRODUCTION = `
<!-- Written by \`npm run generate\` from src/limits/table.ts: change it there. -->

# Limits

What bounds the work and memory that peers, clients and users can cause. Where a limit of open files is low, each number of connections
below is at most an eighth of the reserved files. An address is an IPv4 address or an IPv6 /64. An empty name repeats the one above.
`;

const CLUSTERS = `
One controller serves all namespaces. Of too many resources, the oldest count. [Operating sites in Kubernetes](../operate-kubernetes.md#when-something-is-wrong)
explains these limits.
`;

const SHARES = `
## Fair shares

The connections of a link, the sockets of a router and its counted memory are shared fairly. The first half is first come, first served.
Beyond it, one owner has three quarters if it is alone, and two have three eighths each. [Operating a site](../operate-connection.md#how-many-connections)
explains these shares, and [decision 14](../adr/0014-one-budget-of-memory.md) gives the reasons. A router in between gives a single Listener a
quarter less. From the thirteenth to the 145th greedy routing key, each has 16 connections of a link, and later ones have none.
`;
