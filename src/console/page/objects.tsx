import type { JSX } from 'preact';
import type { ResourceRow } from '../contract.ts';
import { Choices, ReadinessChoices } from './filters.tsx';
import { Empty, Panel, Since } from './parts.tsx';
import { route } from './route.ts';
import { resourceColumns } from './service.tsx';
import { resources } from './store.ts';
import { Table, type Column } from './table.tsx';

const columns: readonly Column<ResourceRow>[] = [
  ...resourceColumns,
  {
    name: 'since',
    title: 'Changed',
    isNumber: true,
    needs: 'medium',
    value: ({ since }) => (since === undefined ? undefined : Date.parse(since)),
    cell: ({ since }) => <Since time={since} />,
  },
];

export function Objects(): JSX.Element {
  const { query } = route.value;
  const [text, state, kind] = [(query.get('q') ?? '').toLowerCase(), query.get('state') ?? '', query.get('kind') ?? ''];
  const all = [...resources.value.values()];
  const kinds = [...new Set(all.map((row) => row.kind))].toSorted();
  const rows = all.filter(
    (row) =>
      (kind === '' || row.kind === kind) &&
      (state === '' || (!row.ready && !row.past)) &&
      (text === '' || `${row.kind}/${row.name} ${row.message}`.toLowerCase().includes(text)),
  );
  return (
    <Panel title="Resources" aside={<ReadinessChoices />}>
      <Choices label="Kind" parameter="kind" choices={[['', 'Any kind'], ...kinds.map((each) => [each, each] as const)]} />
      <Table
        caption="Objects"
        columns={columns}
        rows={rows}
        idOf={(row) => `${row.kind}/${row.name}`}
        sort="name"
        empty={<Empty title={all.length === 0 ? 'The namespace has no objects yet.' : 'No object matches the filter.'} />}
      />
    </Panel>
  );
}
