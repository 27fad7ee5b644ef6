import type { JSX } from 'preact';
import type { RouterView, SiteDetailView } from '../contract.ts';
import { keyColumn } from './columns.tsx';
import { byteRate, count, duration, milliseconds, rate } from './format.ts';
import { linkColumns } from './network.tsx';
import { Empty, Failure, FigureList, Panel, useApi } from './parts.tsx';
import { Table, type Column } from './table.tsx';

/** Milliseconds between two reads: while the page shows a site, the console asks it as often. */
const EVERY = 2_000;

export function Site({ id }: { readonly id: string }): JSX.Element {
  const loaded = useApi<SiteDetailView>(`sites/${encodeURIComponent(id)}`, EVERY);
  if (loaded.is === 'loading') return <p class="loading">Reading the site…</p>;
  if (loaded.is === 'failed') return <Failure error={loaded.error} />;
  const site = loaded.value;
  return (
    <>
      <div class="heading">
        <h2 class="object">{site.name}</h2>
        {site.isThis && <span class="tag">this site</span>}
        {site.edge && <span class="tag">edge</span>}
      </div>
      {site.noFigures === undefined ? (
        <Figures site={site} />
      ) : (
        <Empty title="No figures of this site.">
          <p>{site.noFigures}</p>
        </Empty>
      )}
      <Panel title="Links">
        <Table
          caption={`Links of ${site.name}`}
          columns={linkColumns}
          rows={site.linkList}
          idOf={(link) => link.id}
          sort="state"
          empty={<Empty title="The site announces no link." />}
        />
      </Panel>
      <Panel title="Routers">
        <Table
          caption={`Routers of ${site.name}`}
          columns={routerColumns}
          rows={site.routerList}
          idOf={({ name }) => name}
          sort=""
          parameter="routers"
          empty={<Empty title="No router is known." />}
        />
      </Panel>
      <Panel title="Routing keys">
        <Table
          caption={`Routing keys of ${site.name}`}
          columns={keyColumns}
          rows={site.keyList}
          idOf={({ key }) => key}
          sort=""
          parameter="keys"
          empty={<Empty title="The site has neither listeners nor connectors." />}
        />
      </Panel>
    </>
  );
}

function Figures({ site: { figures, platform, namespace, version } }: { readonly site: SiteDetailView }): JSX.Element {
  const { open, rates, eventLoopDelay, missing = 0 } = figures ?? {};
  const facts: readonly (readonly [string, string])[] = [
    ['New connections', rate(rates?.opened)],
    ['Failed', rate(rates?.failed)],
    ['Open', count(open)],
    ['To servers', byteRate(rates?.up)],
    ['To clients', byteRate(rates?.down)],
    ['Loop delay, p99', milliseconds(eventLoopDelay)],
    ['Version', version || '–'],
    ['Platform', `${platform} ${namespace}`],
    ...(missing > 0 ? ([['Routers without figures', count(missing)]] as const) : []),
  ];
  return <FigureList items={facts} />;
}

const routerColumns: readonly Column<RouterView>[] = [
  { name: 'name', title: 'Router', value: ({ name }) => name },
  { name: 'version', title: 'Version', value: ({ version }) => version },
  {
    name: 'uptime',
    title: 'Running for',
    isNumber: true,
    needs: 'medium',
    value: ({ uptime }) => uptime,
    cell: ({ uptime }) => (uptime === undefined ? '–' : duration(uptime)),
  },
  { name: 'open', title: 'Open', isNumber: true, value: ({ open }) => open, cell: ({ open }) => count(open) },
  {
    name: 'delay',
    title: 'Loop delay',
    isNumber: true,
    needs: 'medium',
    value: ({ eventLoopDelay }) => eventLoopDelay,
    cell: ({ eventLoopDelay }) => milliseconds(eventLoopDelay),
  },
  { name: 'why', title: 'Note', value: ({ why }) => why, cell: ({ why }) => why ?? '' },
];

const keyColumns: readonly Column<SiteDetailView['keyList'][number]>[] = [
  keyColumn,
  { name: 'listeners', title: 'Listeners', isNumber: true, value: ({ listeners }) => listeners },
  { name: 'connectors', title: 'Connectors', isNumber: true, value: ({ connectors }) => connectors },
];
