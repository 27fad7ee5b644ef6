/** Tables for people, JSON and YAML for programs. */
import { printerColumns } from '../../api/skupper/columns.ts';
import type { SkupperKind } from '../../api/skupper/index.ts';
import { printable, visibleJson } from '../../text/printable.ts';
import { writeYaml } from '../../text/write-yaml.ts';

export type OutputFormat = 'json' | 'yaml';

export function structured(value: unknown, format: OutputFormat): string {
  return format === 'json' ? `${visibleJson(value, 2)}\n` : writeYaml(value);
}

/** Wraps several objects in a List, as `kubectl get` does. */
export function listOf(items: readonly unknown[]): unknown {
  return { apiVersion: 'v1', kind: 'List', items };
}

/** Formats a table. Each column is as wide as its longest cell; the last one is not padded. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((row) => row.map((cell) => printable(cell)));
  const widths = head.map((_, column) => Math.max(...lines.map((line) => [...(line[column] ?? '')].length)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => pad(cell, widths[column] ?? 0))
          .join('   ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** Formats resources of one kind as a table of its printer columns, without columns that are empty in every row. */
export function resourceTable(kind: SkupperKind, resources: readonly object[]): string {
  const columns = printerColumns[kind].filter(
    ({ name, jsonPath }) => name === 'Status' || resources.some((resource) => cellAt(resource, jsonPath) !== ''),
  );
  const head = ['NAME', ...columns.map(({ name }) => name.toUpperCase().replaceAll(' ', '-'))];
  const rows = resources.map((resource) => [
    cellAt(resource, '.metadata.name'),
    ...columns.map(({ jsonPath, type }) => cellAt(resource, jsonPath) || (type === 'boolean' ? 'false' : '-')),
  ]);
  return table(head, rows);
}

/** Formats one `Name:  value` per line. Fields without a value are omitted. */
export function fieldLines(fields: readonly (readonly [name: string, value: unknown])[]): string {
  const shown = fields
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => [`${name}:`, printable(cellOf(value))]);
  const width = Math.max(0, ...shown.map(([name = '']) => name.length));
  return shown.map(([name = '', value = '']) => `${name.padEnd(width)}   ${value}\n`).join('');
}

/** Returns the value at a path of plain names, as printer columns use. */
export function valueAt(resource: object, jsonPath: string): unknown {
  let value: unknown = resource;
  for (const name of jsonPath.split('.').slice(1)) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Object.entries(value).find(([key]) => key === name)?.[1];
  }
  return value;
}

function cellAt(resource: object, jsonPath: string): string {
  return cellOf(valueAt(resource, jsonPath));
}

/** Formats a value for people, a list of objects as `name inter-router, host 127.0.0.1; name edge, …`. */
function cellOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(cellOf).join(value.some((item) => typeof item === 'object') ? '; ' : ', ');
  if (typeof value !== 'object') return String(value);
  return Object.entries(value)
    .map(([field, of]) => `${field} ${cellOf(of)}`)
    .join(', ');
}

function pad(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - [...cell].length));
}
