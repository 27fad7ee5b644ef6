import type { JSX } from 'preact';
import type { LinkView, ListView, ResourceRow, RevocationView } from '../contract.ts';
import { Empty, Failure, Panel, Since, State, useApi } from './parts.tsx';
import { href, route } from './route.ts';
import { resourceColumns } from './service.tsx';
import { links, resources } from './store.ts';
import { Table, type Column } from './table.tsx';

const sections = [
  { title: 'Links of this site', kinds: ['Link'], columns: ['Remote Site', 'Cost'], empty: 'This site opens no link.' },
  {
    title: 'Grants',
    kinds: ['AccessGrant'],
    columns: ['Redemptions Made', 'Redemptions Allowed', 'Expiration'],
    empty: 'No grant: this site issues no tokens.',
  },
  { title: 'Tokens', kinds: ['AccessToken'], columns: ['Redeemed'], empty: 'No token waits here.' },
  { title: 'Certificates', kinds: ['Certificate', 'SecuredAccess'], columns: ['CA', 'Expiration'], empty: 'No Certificate.' },
  {
    title: 'Access for links',
    kinds: ['RouterAccess'],
    columns: [],
    empty: 'No RouterAccess. The Site may still admit links by linkAccess.',
  },
] as const;

export function Trust(): JSX.Element {
  const text = (route.value.query.get('q') ?? '').toLowerCase();
  const rows = [...resources.value.values()].filter(({ kind, name, message }) => `${kind}/${name} ${message}`.toLowerCase().includes(text));
  const shown = [...links.value.values()].filter(({ name, fromName, toName }) =>
    `${name} ${fromName} ${toName}`.toLowerCase().includes(text),
  );
  const of = (direction: LinkView['direction']): readonly LinkView[] => shown.filter((link) => link.direction === direction);
  return (
    <>
      {sections.map(({ title, kinds, columns, empty }) => (
        <Panel key={title} title={title}>
          <Table
            caption={title}
            columns={[...resourceColumns.slice(0, 2), ...columns.map(columnOf), ...resourceColumns.slice(2)]}
            rows={rows.filter(({ kind }) => kinds.some((each) => each === kind))}
            idOf={({ kind, name }) => `${kind}/${name}`}
            sort=""
            parameter={kinds[0]}
            empty={<Empty title={empty} />}
          />
        </Panel>
      ))}
      <Panel title="Links to other sites">
        <Table
          caption="Links to other sites"
          columns={outgoingColumns}
          rows={of('outgoing')}
          idOf={({ id }) => id}
          sort=""
          parameter="outgoing"
          empty={<Empty title="This site opens no link." />}
        />
      </Panel>
      <Panel title="Links from other sites">
        <Table
          caption="Links from other sites"
          columns={incomingColumns}
          rows={of('incoming')}
          idOf={({ id }) => id}
          sort=""
          parameter="incoming"
          empty={<Empty title="No link from another site." />}
        />
      </Panel>
      <Revocations text={text} />
    </>
  );
}

/** Milliseconds between two reads of the list, which changes rarely. */
const EVERY = 10_000;

function Revocations({ text }: { readonly text: string }): JSX.Element {
  const loaded = useApi<ListView<RevocationView>>('revocations', EVERY);
  return (
    <Panel title="Revocations">
      {loaded.is === 'loading' && <p class="empty">Reading…</p>}
      {loaded.is === 'failed' && <Failure error={loaded.error} />}
      {loaded.is === 'ready' && (
        <Table
          caption="Revocations"
          columns={revocationColumns}
          rows={loaded.value.items.filter(({ name }) => name.toLowerCase().includes(text))}
          idOf={({ name }) => name}
          sort=""
          parameter="revocations"
          empty={<Empty title={loaded.value.total === 0 ? 'No site is revoked.' : 'No revocation matches the filter.'} />}
        />
      )}
    </Panel>
  );
}

const revocationColumns: readonly Column<RevocationView>[] = [
  { name: 'name', title: 'Site or certificate', value: ({ name }) => name },
  { name: 'at', title: 'Revoked', isNumber: true, value: ({ at }) => Date.parse(at), cell: ({ at }) => localTime(at) },
];

function columnOf(title: string): Column<ResourceRow> {
  const isTime = title === 'Expiration';
  const value = ({ columns }: ResourceRow): string | undefined => columns[title];
  return {
    name: title.toLowerCase().replaceAll(' ', '-'),
    title,
    needs: 'medium',
    value,
    ...(isTime ? { cell: (row: ResourceRow) => localTime(value(row)) } : {}),
  };
}

function localTime(text: string | undefined): string {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? '–' : new Date(time).toLocaleString();
}

const linkColumns: Readonly<Record<'state' | 'address' | 'expires' | 'since', Column<LinkView>>> = {
  state: {
    name: 'state',
    title: 'State',
    value: ({ state }) => state,
    cell: ({ state }) => <State tone={state === 'up' ? 'good' : 'wait'}>{state}</State>,
  },
  address: { name: 'address', title: 'Address', needs: 'medium', value: ({ address }) => address },
  expires: {
    name: 'expires',
    title: 'Certificate until',
    needs: 'wide',
    value: ({ certificateExpires }) => certificateExpires,
    cell: ({ certificateExpires }) => localTime(certificateExpires),
  },
  since: {
    name: 'since',
    title: 'Since',
    isNumber: true,
    value: ({ since }) => (since === undefined ? undefined : Date.parse(since)),
    cell: ({ since }) => <Since time={since} />,
  },
};

const outgoingColumns: readonly Column<LinkView>[] = [
  {
    name: 'link',
    title: 'Link',
    value: ({ name }) => name,
    cell: ({ name }) => (
      <a class="row-link" href={href(['objects', 'Link', name])}>
        {name}
      </a>
    ),
  },
  { name: 'site', title: 'Site', needs: 'medium', value: ({ toName }) => toName || '–' },
  linkColumns.state,
  linkColumns.address,
  linkColumns.expires,
  { name: 'attempts', title: 'Attempts', isNumber: true, needs: 'wide', value: ({ attempts }) => attempts },
  {
    name: 'last-problem',
    title: 'Last problem',
    needs: 'medium',
    value: ({ lastProblem }) => lastProblem,
    cell: ({ lastProblem, lastProblemAt }) =>
      lastProblem === undefined ? (
        '–'
      ) : (
        <>
          <Since time={lastProblemAt} /> ago: {lastProblem}
        </>
      ),
  },
  linkColumns.since,
];

const incomingColumns: readonly Column<LinkView>[] = [
  { name: 'site', title: 'Site', value: ({ fromName }) => fromName },
  linkColumns.state,
  linkColumns.address,
  {
    name: 'serial',
    title: 'Certificate serial',
    needs: 'wide',
    value: ({ serial }) => serial,
    cell: ({ serial = '–' }) => <code class="id">{serial}</code>,
  },
  linkColumns.expires,
  { name: 'cost', title: 'Cost', isNumber: true, value: ({ cost }) => cost },
  { name: 'message', title: 'Message', needs: 'medium', value: ({ message }) => message, cell: ({ message = '–' }) => message },
  linkColumns.since,
];
