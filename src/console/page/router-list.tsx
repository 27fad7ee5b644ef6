/** A table of items that the routers list page by page, the latest first. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ListView } from '../contract.ts';
import { get } from './client.ts';
import { count } from './format.ts';
import { Empty, Failure, NotReadable, useApi } from './parts.tsx';
import { route } from './route.ts';
import { Table, type TableProps } from './table.tsx';

export interface RouterListProps<T> extends Pick<TableProps<T>, 'caption' | 'columns' | 'idOf' | 'sort'> {
  /** Path of the list, with a query. */
  readonly path: string;
  /** Whether the filter of the view, in lower case, shows an item. */
  readonly isShown: (item: T, text: string) => boolean;
  /** Text if there are no items. */
  readonly empty: string;
  /** Whether the path selects some items. The routers' totals count all. */
  readonly isPart?: boolean;
}

/** Milliseconds between two reads of the first page. */
const EVERY = 2_000;

export function RouterList<T>(props: RouterListProps<T>): JSX.Element {
  const loaded = useApi<ListView<T>>(props.path, EVERY);
  if (loaded.is === 'loading') return <p class="empty">Asking the routers…</p>;
  return loaded.is === 'failed' ? <Failure error={loaded.error} /> : <Pages {...props} list={loaded.value} />;
}

interface PagesProps<T> extends RouterListProps<T> {
  /** The first page. */
  readonly list: ListView<T>;
}

function Pages<T>({ path, list, caption, columns, idOf, isShown, sort, empty, isPart = false }: PagesProps<T>): JSX.Element {
  const [older, setOlder] = useState<Pick<ListView<T>, 'items' | 'next'>>();
  const text = (route.value.query.get('q') ?? '').toLowerCase();
  const next = older === undefined ? list.next : older.next;
  const newest = new Set(list.items.map(idOf));
  const rows = [...list.items, ...(older?.items ?? []).filter((row) => !newest.has(idOf(row)))].filter((row) => isShown(row, text));
  const more = async (): Promise<void> => {
    const found = await get<ListView<T>>(`${path}&cursor=${encodeURIComponent(next ?? '')}`);
    setOlder({ items: [...(older?.items ?? []), ...found.items], next: found.next });
  };
  return (
    <>
      {list.partial
        .filter(({ router }) => router !== '')
        .map(({ router, why }) => (
          <p key={router} class="foot">
            Router {router} does not answer: {why}
          </p>
        ))}
      <NotReadable partial={list.partial} />
      <Table
        caption={caption}
        columns={columns}
        rows={rows}
        idOf={idOf}
        sort={sort}
        empty={<Empty title={isPart || list.total === 0 ? empty : 'Nothing matches the filter.'} />}
      />
      {(!isPart || next !== null) && (
        <p class="foot">
          {!isPart && `${count(list.total)} in all. `}
          {next !== null && (
            // A failure leaves the rows as they are, and the button.
            <button type="button" class="plain" onClick={() => void more().catch(() => undefined)}>
              Load more
            </button>
          )}
        </p>
      )}
    </>
  );
}
