import type { JSX } from 'preact';
import type { RequestView } from '../contract.ts';
import { keyColumn } from './columns.tsx';
import { count, milliseconds } from './format.ts';
import { Panel, Since, State } from './parts.tsx';
import { href, route } from './route.ts';
import { RouterList } from './router-list.tsx';
import type { Column } from './table.tsx';

const NO_REQUEST = 'No request yet. Routers see those of HTTP clients of Listeners.';

export function Requests(): JSX.Element {
  const { query } = route.value;
  const chosen = ['key', 'connection'].flatMap((name): readonly (readonly [string, string])[] => {
    const value = query.get(name);
    return value === null ? [] : [[name, value]];
  });
  const path = `requests?${new URLSearchParams(Object.fromEntries(chosen)).toString()}`;
  const [, of] = chosen.at(-1) ?? [];
  return (
    <Panel title={of === undefined ? 'Requests of this site' : `Requests of ${of}`}>
      {of !== undefined && (
        <p class="foot">
          <a href={href(['requests'])}>Show all requests</a>
        </p>
      )}
      <RouterList
        key={path}
        path={path}
        caption="Requests"
        columns={columns}
        idOf={rowId}
        isShown={matches}
        sort="-at"
        empty={NO_REQUEST}
      />
    </Panel>
  );
}

/** The requests of one connection. */
export function RequestList({ connection }: { readonly connection: string }): JSX.Element {
  return (
    <RouterList
      path={`requests?${new URLSearchParams({ connection }).toString()}`}
      caption={`Requests of connection ${connection}`}
      columns={ofConnection}
      idOf={rowId}
      isShown={() => true}
      sort="-at"
      empty={NO_REQUEST}
      isPart
    />
  );
}

/** Requests without an ID of their own: their times distinguish equal ones. */
const rowId = ({ at, connection, method, status, ms, path = '' }: RequestView): string =>
  [at, connection, method, status, ms, path].join(' ');

function matches({ key, method, status, path = '', connection }: RequestView, text: string): boolean {
  return text === '' || [key, method, String(status), path, connection].some((each) => each.toLowerCase().includes(text));
}

const toneOf = (status: number): 'good' | 'wait' | 'bad' => (status >= 500 || status === 0 ? 'bad' : status >= 400 ? 'wait' : 'good');

const columns: readonly Column<RequestView>[] = [
  { name: 'at', title: 'Ago', isNumber: true, value: ({ at }) => Date.parse(at), cell: ({ at }) => <Since time={at} /> },
  {
    name: 'method',
    title: 'Method',
    value: ({ method }) => method,
    cell: ({ method, of }) => (
      <>
        {method}
        {of > 1 && <span class="tag">1 of {count(of)}</span>}
      </>
    ),
  },
  {
    name: 'status',
    title: 'Status',
    isNumber: true,
    value: ({ status }) => status,
    cell: ({ status }) => <State tone={toneOf(status)}>{String(status)}</State>,
  },
  { name: 'ms', title: 'Time', isNumber: true, needs: 'medium', value: ({ ms }) => ms, cell: ({ ms }) => milliseconds(ms) },
  keyColumn,
  { name: 'path', title: 'Path', needs: 'medium', value: ({ path }) => path },
  { name: 'protocol', title: 'Protocol', needs: 'wide', value: ({ protocol }) => protocol },
  {
    name: 'connection',
    title: 'Connection',
    needs: 'wide',
    value: ({ connection }) => connection,
    cell: ({ connection }) => (
      <a href={href(['connections', connection])}>
        <code class="id">{connection}</code>
      </a>
    ),
  },
];

/** Columns that differ between the requests of one connection. */
const ofConnection = columns.filter(({ name }) => name !== 'key' && name !== 'connection');
