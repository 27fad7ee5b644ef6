import type { JSX } from 'preact';
import type { ChangeView, ExposureCounts, OverviewView } from '../contract.ts';
import { Chart, Ranges } from './chart.tsx';
import { count, milliseconds, plural, rate } from './format.ts';
import { Empty, NotReadable, Panel, Problems, Since, State } from './parts.tsx';
import { href } from './route.ts';
import { overview, problems, resources } from './store.ts';

export function Overview(): JSX.Element {
  const state = overview.value;
  const items = [...problems.value.values()].toSorted((one, other) => rank(one.severity) - rank(other.severity));
  if (state === undefined) return <p class="loading">Reading the site…</p>;
  return (
    <>
      <Panel title="What is wrong" aside={<span class="aside">{items.length === 0 ? '' : plural(items.length, 'problem')}</span>}>
        {items.length === 0 ? <NoProblem linksDown={state.links.down} /> : <Problems items={items.slice(0, MOST_PROBLEMS)} />}
        {items.length > MOST_PROBLEMS && (
          <p class="foot">
            <a href={href(['objects'], { state: 'problem' })}>All objects that are not ready</a>
          </p>
        )}
        {state.isMachine && resources.value.size === 0 && <FirstSteps namespace={state.namespace} />}
        <NotReadable partial={state.partial} />
      </Panel>
      <Figures state={state} />
      <Panel title="Traffic at this site" aside={<Ranges />}>
        <div class="charts">
          <Chart
            title="Connections"
            format="rate"
            lines={[
              { title: 'opened', of: 'all:opened', tone: 'accent' },
              { title: 'failed', of: 'all:failed', tone: 'bad' },
            ]}
          />
          <Chart
            title="Bytes"
            format="bytes"
            lines={[
              { title: 'to servers', of: 'all:up', tone: 'accent' },
              { title: 'to clients', of: 'all:down', tone: 'muted' },
            ]}
          />
        </div>
      </Panel>
      <div class="columns">
        <Changes state={state} />
        <Expiring state={state} />
      </div>
    </>
  );
}

/** Problems beyond this number are among the objects that are not ready. */
const MOST_PROBLEMS = 20;

const rank = (severity: string): number => (severity === 'error' ? 0 : 1);

/** A link from another site is not a resource of this one. */
function NoProblem({ linksDown }: { readonly linksDown: number }): JSX.Element {
  return linksDown === 0 ? (
    <Empty title="Nothing is wrong.">
      <p>Every resource of the site is ready.</p>
    </Empty>
  ) : (
    <Empty title="Every resource of the site is ready.">
      <p>
        <a href={href(['network'], { state: 'problem' })}>{plural(linksDown, 'link')} not up</a>
      </p>
    </Empty>
  );
}

function FirstSteps({ namespace }: { readonly namespace: string }): JSX.Element {
  const earshot = `earshot${namespace === 'default' ? '' : ` -n ${namespace}`}`;
  return (
    <div class="steps">
      <p>The namespace is empty. A first site takes three commands:</p>
      <ol>
        <li>
          <code>{earshot} site create NAME</code> creates the site.
        </li>
        <li>
          <code>{earshot} system install</code> runs it.
        </li>
        <li>
          <code>{earshot} token redeem FILE</code> links it to another site.
        </li>
      </ol>
    </div>
  );
}

function Figures({ state }: { readonly state: OverviewView }): JSX.Element {
  const { sites, links, keys, totals } = state;
  const oneSided = keys.withoutConnector + keys.withoutListener;
  return (
    <dl class="figures">
      <Figure name="Sites reachable" value={count(sites)} target={href(['network'])} />
      <Figure
        name="Links up"
        value={count(links.up)}
        note={links.down > 0 ? `${count(links.down)} not up` : ''}
        isBad={links.down > 0}
        target={href(['network'])}
      />
      <Figure
        name="Routing keys"
        value={count(keys.total)}
        note={oneSided > 0 ? `${count(keys.withoutConnector)} without connector, ${count(keys.withoutListener)} without listener` : ''}
        target={href(['services'])}
      />
      {state.exposure !== undefined && <ExposureFigures counts={state.exposure} />}
      <Figure name="Open connections" value={count(totals.open)} />
      <Figure
        name="New connections"
        value={rate(totals.rates?.opened)}
        note={failures(totals.rates?.failed)}
        isBad={(totals.rates?.failed ?? 0) > 0}
      />
      <Figure name="Connect time, p95" value={milliseconds(totals.connect?.p95)} />
      <Figure name="Loop delay, p99" value={milliseconds(totals.eventLoopDelay)} />
    </dl>
  );
}

function ExposureFigures({ counts }: { readonly counts: ExposureCounts }): JSX.Element {
  const { listeners, listenersNotReady, pods, podsWaiting } = counts;
  return (
    <>
      <Figure
        name="Exposed Listeners"
        value={count(listeners)}
        note={listenersNotReady > 0 ? `${count(listenersNotReady)} not ready` : ''}
        isBad={listenersNotReady > 0}
        target={href(['exposure'])}
      />
      <Figure
        name="Pods with volumes"
        value={count(pods)}
        note={podsWaiting > 0 ? `${count(podsWaiting)} waiting` : ''}
        isBad={podsWaiting > 0}
        target={href(['exposure'], { of: 'pods' })}
      />
    </>
  );
}

const failures = (failed: number | undefined): string => (failed === undefined || failed === 0 ? '' : `${rate(failed)} fail`);

function Figure({
  name,
  value,
  note = '',
  isBad = false,
  target,
}: {
  readonly name: string;
  readonly value: string;
  readonly note?: string;
  readonly isBad?: boolean;
  readonly target?: string;
}): JSX.Element {
  return (
    <div>
      <dt>{target === undefined ? name : <a href={target}>{name}</a>}</dt>
      <dd>
        <span class="value">{value}</span>
        {note !== '' && <span class={isBad ? 'note bad-text' : 'note'}>{note}</span>}
      </dd>
    </div>
  );
}

const MOST_CHANGES = 8;

function Changes({ state }: { readonly state: OverviewView }): JSX.Element {
  return (
    <Panel title="Latest changes">
      {state.changes.length === 0 ? (
        <Empty title="No condition has changed since the router started." />
      ) : (
        <ul class="changes">
          {state.changes.slice(0, MOST_CHANGES).map((change) => (
            <Change key={`${change.at} ${change.kind}/${change.name} ${change.type}`} change={change} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Change({ change: { at, kind, name, type, status, reason, message } }: { readonly change: ChangeView }): JSX.Element {
  return (
    <li title={message}>
      <a class="row-link" href={href(['objects', kind, name])}>
        {kind}/{name}
      </a>
      <State tone={status === 'True' ? 'good' : status === 'False' ? 'bad' : 'wait'}>{status === 'True' ? type : reason}</State>
      <span class="since">
        <Since time={at} /> ago
      </span>
    </li>
  );
}

function Expiring({ state }: { readonly state: OverviewView }): JSX.Element {
  return (
    <Panel title="Certificates that expire within 14 days">
      {state.expiring.length === 0 ? (
        <Empty title="None." />
      ) : (
        <ul class="changes">
          {state.expiring.map(({ certificate, days }) => (
            <li key={certificate}>
              <span>{certificate}</span>
              <State tone={days <= 2 ? 'bad' : 'wait'}>{days < 0 ? 'expired' : `${plural(Math.floor(days), 'day')} left`}</State>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
