import type { JSX } from 'preact';
import type { ConnectionView } from '../contract.ts';
import { Choices } from './filters.tsx';
import { bytes, count, duration, milliseconds } from './format.ts';
import { Panel, Since, State } from './parts.tsx';
import { href, route } from './route.ts';
import { clock } from './store.ts';
import { RouterList } from './router-list.tsx';
import type { Column } from './table.tsx';

export function Connections(): JSX.Element {
  const { query } = route.value;
  const [state, key] = [query.get('state') ?? 'open', query.get('key') ?? ''];
  const path = `connections?${new URLSearchParams({ state, ...(key === '' ? {} : { key }) }).toString()}`;
  const choices = (
    <Choices
      label="State of the connections"
      parameter="state"
      choices={[
        ['', 'Open'],
        ['ended', 'Ended'],
        ['failed', 'Failed'],
      ]}
    />
  );
  return (
    <Panel title={key === '' ? 'Connections of this site' : `Connections of ${key}`} aside={choices}>
      {key !== '' && (
        <p class="foot">
          <a href={href(['connections'], state === 'open' ? {} : { state })}>Show all routing keys</a>
        </p>
      )}
      <RouterList
        key={path}
        path={path}
        caption={`${state} connections`}
        columns={state === 'open' ? openColumns : pastColumns}
        idOf={rowId}
        isShown={matches}
        sort="-begun"
        empty={EMPTY[state] ?? 'No connection.'}
      />
    </Panel>
  );
}

/** A peer can use the ID of another connection. */
const rowId = ({ id, begun, halves }: ConnectionView): string => `${id} ${begun} ${halves.join(' ')}`;

const EMPTY: Readonly<Record<string, string>> = {
  open: 'No connection is open.',
  ended: 'No connection has ended yet.',
  failed: 'No connection has failed.',
};

function matches({ key, from, client = '', to = '', server = '', end = '', id }: ConnectionView, text: string): boolean {
  return text === '' || [key, from, client, to, server, end, id].some((each) => each.toLowerCase().includes(text));
}

const columns: Readonly<Record<'key' | 'from' | 'to' | 'up' | 'down' | 'connect' | 'firstByte', Column<ConnectionView>>> = {
  key: {
    name: 'key',
    title: 'Routing key',
    value: ({ key }) => key,
    cell: ({ key, id }) => (
      <a class="row-link" href={href(['connections', id])} title={`connection ${id}`}>
        {key}
      </a>
    ),
  },
  from: {
    name: 'from',
    title: 'Client',
    value: ({ from, client }) => [from, client].filter(Boolean).join(' '),
    cell: ({ from, client }) => <End site={from} at={client} />,
  },
  to: {
    name: 'to',
    title: 'Server',
    needs: 'medium',
    value: ({ to, server }) => [to, server].filter(Boolean).join(' '),
    cell: ({ to, server }) => <End site={to} at={server} />,
  },
  up: { name: 'up', title: 'To server', isNumber: true, needs: 'medium', value: ({ up }) => up, cell: ({ up }) => bytes(up) },
  down: { name: 'down', title: 'To client', isNumber: true, needs: 'medium', value: ({ down }) => down, cell: ({ down }) => bytes(down) },
  connect: {
    name: 'connect',
    title: 'Connect',
    isNumber: true,
    needs: 'wide',
    value: ({ connect }) => connect,
    cell: ({ connect }) => milliseconds(connect),
  },
  firstByte: {
    name: 'first-byte',
    title: 'First byte',
    isNumber: true,
    needs: 'wide',
    value: ({ firstByte }) => firstByte,
    cell: ({ firstByte }) => milliseconds(firstByte),
  },
};

const openColumns: readonly Column<ConnectionView>[] = [
  columns.key,
  columns.from,
  columns.to,
  columns.up,
  columns.down,
  columns.connect,
  columns.firstByte,
  {
    name: 'begun',
    title: 'Open for',
    isNumber: true,
    value: ({ begun }) => Date.parse(begun),
    cell: ({ begun }) => <Since time={begun} />,
  },
];

const pastColumns: readonly Column<ConnectionView>[] = [
  columns.key,
  columns.from,
  columns.to,
  {
    name: 'end',
    title: 'How it ended',
    value: ({ end }) => end,
    cell: ({ end = '–', message, of }) => (
      <span title={message}>
        <State tone={end === 'orderly' ? 'good' : 'bad'}>{end}</State>
        {of > 1 && <span class="tag">1 of {count(of)}</span>}
        {message !== undefined && <span class="message end-message">{message}</span>}
      </span>
    ),
  },
  columns.up,
  columns.down,
  columns.connect,
  {
    name: 'duration',
    title: 'Lasted',
    isNumber: true,
    needs: 'wide',
    value: ({ begun, ended = '' }) => Date.parse(ended) - Date.parse(begun),
    cell: ({ begun, ended = '' }) => milliseconds(Date.parse(ended) - Date.parse(begun)),
  },
  {
    name: 'begun',
    title: 'Begun',
    isNumber: true,
    needs: 'medium',
    value: ({ begun }) => Date.parse(begun),
    cell: ({ begun }) => `${duration(clock.value - Date.parse(begun))} ago`,
  },
];

/** One end: its site and address. Half of a connection knows only one of them. */
function End({ site = '–', at }: { readonly site: string | undefined; readonly at: string | undefined }): JSX.Element {
  return (
    <>
      {site} {at !== undefined && <span class="where">{at}</span>}
    </>
  );
}
