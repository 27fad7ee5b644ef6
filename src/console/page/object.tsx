import type { JSX } from 'preact';
import type { ConditionView, ResourceView } from '../contract.ts';
import { messageColumn } from './columns.tsx';
import { ExplanationPanel } from './explanation.tsx';
import { FiguresOfLink } from './link.tsx';
import { Empty, Failure, Panel, Prose, Since, State, toneOf, useApi } from './parts.tsx';
import { Table, type Column } from './table.tsx';

export function ObjectPage({ kind, name }: { readonly kind: string; readonly name: string }): JSX.Element {
  const loaded = useApi<ResourceView>(`resources/${encodeURIComponent(kind)}/${encodeURIComponent(name)}`);
  if (loaded.is === 'loading') return <p class="loading">Reading {`${kind}/${name}`}…</p>;
  if (loaded.is === 'failed') return <Failure error={loaded.error} />;
  const { status, message, ready, past, conditions, yaml, command, columns } = loaded.value;
  const facts = Object.entries(columns);
  return (
    <>
      <div class="heading">
        <h2 class="object">
          {kind}/{name}
        </h2>
        <State tone={past ? 'quiet' : ready ? 'good' : toneOf(status)}>{past ? 'used up or expired' : ready ? 'Ready' : status}</State>
      </div>
      {message !== '' && (
        <p class="lead">
          <Prose text={message} />
        </p>
      )}
      {facts.length > 0 && (
        <dl class="facts">
          {facts.map(([title, text]) => (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      )}
      {kind === 'Link' && <FiguresOfLink name={name} />}
      <ExplanationPanel kind={kind} name={name} />
      <Panel title="Conditions">
        <Table
          caption={`Conditions of ${kind} ${name}`}
          columns={conditionColumns}
          rows={conditions}
          idOf={({ type }) => type}
          sort=""
          empty={<Empty title="No condition yet: the object has not been reconciled." />}
        />
      </Panel>
      <YamlPanel of={`${kind} ${name}`} yaml={yaml} command={command} />
    </>
  );
}

export function YamlPanel({ of, yaml, command }: { readonly of: string } & Pick<ResourceView, 'yaml' | 'command'>): JSX.Element {
  return (
    <Panel title="YAML" aside={<code class="aside">{command}</code>}>
      <pre tabIndex={0} role="group" aria-label={`YAML of ${of}, without secrets`}>
        {yaml}
      </pre>
    </Panel>
  );
}

export const conditionColumns: readonly Column<ConditionView>[] = [
  { name: 'type', title: 'Condition', value: ({ type }) => type },
  {
    name: 'status',
    title: 'Status',
    value: ({ status }) => status,
    cell: ({ status }) => <State tone={status === 'False' ? 'bad' : toneOf(status)}>{status}</State>,
  },
  { name: 'reason', title: 'Reason', needs: 'medium', value: ({ reason }) => reason },
  messageColumn,
  {
    name: 'since',
    title: 'Since',
    isNumber: true,
    needs: 'medium',
    value: ({ since }) => Date.parse(since),
    cell: ({ since }) => <Since time={since} />,
  },
];
