/** One object of the Exposure view. */
import type { JSX } from 'preact';
import {
  exposedKinds,
  type BackendView,
  type ClassDetailView,
  type ConditionView,
  type EventView,
  type ExposedListenerDetailView,
  type ExposedPodDetailView,
  type MountView,
  type VolumeView,
} from '../contract.ts';
import { messageColumn } from './columns.tsx';
import { ExplanationPanel } from './explanation.tsx';
import { addressText, listenerColumns, Verdict } from './exposure.tsx';
import { conditionColumns, YamlPanel } from './object.tsx';
import { Empty, FactList, Failure, Message, Panel, Prose, Since, State, useApi } from './parts.tsx';
import { href } from './route.ts';
import { Table, type Column } from './table.tsx';

/** Milliseconds between two reads. */
const EVERY = 5_000;

export function ExposedObject({ list, name }: { readonly list: string; readonly name: string }): JSX.Element {
  if (list === 'listeners') return <ListenerPage name={name} />;
  if (list === 'pods') return <PodPage name={name} />;
  if (list === 'classes') return <ClassPage name={name} />;
  return <Empty title="This list does not exist." />;
}

function ListenerPage({ name }: { readonly name: string }): JSX.Element {
  return (
    <Loaded<ExposedListenerDetailView> list="listeners" name={name}>
      {(view) => (
        <>
          <Head kind="Listener" name={name} state={<Verdict of={view.verdict} />} message={view.message} advice={view.advice} />
          <FactList
            items={[
              ['Class', <ClassLink key="class" name={view.className} />],
              ['Addresses', addressText(view) || 'none yet'],
              ['Ports', view.ports.join(', ') || 'none yet'],
              ['Service', serviceText(view)],
              ['Cluster IPs', view.service?.clusterIps.join(', ') ?? ''],
              ['Traffic policy', view.service?.trafficPolicy ?? ''],
              ['Load balancer class', view.service?.loadBalancerClass ?? ''],
              ['Pods', `${view.podsReady} of ${view.pods} ready`],
              ['Age', <Since key="age" time={view.created} />],
            ]}
          />
          <ExplanationPanel kind={exposedKinds.listeners} name={name} />
          <Panel title="Pods">
            <Table
              caption={`Pods of ${name}`}
              columns={backendColumns}
              rows={view.backends}
              idOf={({ name: pod, mount }) => `${pod} ${mount?.claim ?? ''}`}
              sort="pod"
              parameter="pods"
              empty={<Empty title="No pod mounts this Listener." />}
            />
          </Panel>
          {view.ingress.length > 1 && (
            <Panel title="Addresses">
              <Table
                caption={`Addresses of ${name}`}
                columns={ingressColumns}
                rows={view.ingress}
                idOf={({ address, ports }) => `${address} ${ports}`}
                sort=""
                parameter="addresses"
                empty={<></>}
              />
            </Panel>
          )}
          {view.volumes.length > 0 && (
            <Panel title="Volumes">
              <Table
                caption={`Volumes of ${name}`}
                columns={volumeColumns}
                rows={view.volumes}
                idOf={({ name: volume }) => volume}
                sort="claim"
                parameter="volumes"
                empty={<></>}
              />
              <p class="foot">A pinned volume keeps its pod on one node, so that the address stays the same.</p>
            </Panel>
          )}
          <Conditions of={`Listener ${name}`} rows={view.conditions} />
          <Events title="Events of the Service" rows={view.events} />
          <YamlPanel of={`Listener ${name}`} yaml={view.yaml} command={view.command} />
        </>
      )}
    </Loaded>
  );
}

function PodPage({ name }: { readonly name: string }): JSX.Element {
  return (
    <Loaded<ExposedPodDetailView> list="pods" name={name}>
      {(view) => (
        <>
          <Head kind="Pod" name={name} state={<Verdict of={view.verdict} />} message={view.message} advice={view.advice} />
          <FactList
            items={[
              ['Node', view.node ?? 'none yet'],
              ['Phase', view.phase],
              ['Ready', view.ready ? 'yes' : 'no'],
              ['Age', <Since key="age" time={view.created} />],
            ]}
          />
          <ExplanationPanel kind={exposedKinds.pods} name={name} />
          <Panel title="Listener volumes">
            <Table
              caption={`Listener volumes of ${name}`}
              columns={mountColumns}
              rows={view.mounts}
              idOf={({ claim }) => claim}
              sort="claim"
              parameter="mounts"
              empty={<Empty title="The pod mounts no listener volume." />}
            />
          </Panel>
          <Conditions of={`Pod ${name}`} rows={view.conditions} />
          <Events title="Events" rows={view.events} />
          <p class="more">
            <code>{view.command}</code>
          </p>
        </>
      )}
    </Loaded>
  );
}

function ClassPage({ name }: { readonly name: string }): JSX.Element {
  return (
    <Loaded<ClassDetailView> list="classes" name={name}>
      {(view) => (
        <>
          <Head kind="ListenerClass" name={name} state={<State tone="quiet">{view.serviceType}</State>} message={view.message} />
          <FactList items={[['Policy', view.policy.join(', ') || 'defaults']]} />
          <ExplanationPanel kind={exposedKinds.classes} name={name} />
          <Panel title="Listeners of this namespace">
            <Table
              caption={`Listeners of the class ${name}`}
              columns={listenerColumns.filter(({ name: column }) => column !== 'class')}
              rows={view.items}
              idOf={({ name: listener }) => listener}
              sort="name"
              empty={<Empty title="No Listener of this namespace has this class." />}
            />
          </Panel>
          <YamlPanel of={`ListenerClass ${name}`} yaml={view.yaml} command={view.command} />
        </>
      )}
    </Loaded>
  );
}

function Loaded<T>({
  list,
  name,
  children,
}: {
  readonly list: string;
  readonly name: string;
  readonly children: (view: T) => JSX.Element;
}): JSX.Element {
  const loaded = useApi<T>(`exposure/${list}/${encodeURIComponent(name)}`, EVERY);
  if (loaded.is === 'loading') return <p class="loading">Reading {name}…</p>;
  return loaded.is === 'failed' ? <Failure error={loaded.error} /> : children(loaded.value);
}

function Head({
  kind,
  name,
  state,
  message,
  advice,
}: {
  readonly kind: string;
  readonly name: string;
  readonly state: JSX.Element;
  readonly message: string;
  readonly advice?: string | undefined;
}): JSX.Element {
  return (
    <>
      <div class="heading">
        <h2 class="object">
          {kind}/{name}
        </h2>
        {state}
      </div>
      {message !== '' && (
        <p class="lead">
          <Prose text={message} />
          {advice !== undefined && (
            <span class="advice">
              {' '}
              <span class="do">Do</span> <Prose text={advice} />
            </span>
          )}
        </p>
      )}
    </>
  );
}

function ClassLink({ name }: { readonly name: string }): JSX.Element {
  return name === '' ? <>none</> : <a href={href(['exposure', 'classes', name])}>{name}</a>;
}

function serviceText({ service }: ExposedListenerDetailView): string {
  return service === undefined ? 'none yet' : `${service.name} (${service.type})`;
}

function Conditions({ of, rows }: { readonly of: string; readonly rows: readonly ConditionView[] }): JSX.Element {
  return (
    <Panel title="Conditions">
      <Table
        caption={`Conditions of ${of}`}
        columns={conditionColumns}
        rows={rows}
        idOf={({ type }) => type}
        sort=""
        empty={<Empty title="No condition yet: the object has not been reconciled." />}
      />
    </Panel>
  );
}

function Events({ title, rows }: { readonly title: string; readonly rows: readonly EventView[] }): JSX.Element {
  return (
    <Panel title={title}>
      <Table
        caption={title}
        columns={eventColumns}
        rows={rows}
        idOf={({ reason, message, at, reporter }) => `${at} ${reporter} ${reason} ${message}`}
        sort="-at"
        parameter="events"
        empty={<Empty title="Kubernetes keeps no event of it." />}
      />
    </Panel>
  );
}

const podLink = (name: string): JSX.Element => (
  <a class="row-link" href={href(['exposure', 'pods', name])}>
    {name}
  </a>
);

const backendColumns: readonly Column<BackendView>[] = [
  {
    name: 'pod',
    title: 'Pod',
    value: ({ name }) => name,
    // A pod that only a Service selects has no page here.
    cell: ({ name, mount }) => (mount === undefined ? name : podLink(name)),
  },
  {
    name: 'ready',
    title: 'Pod ready',
    value: ({ ready }) => (ready ? 'yes' : 'no'),
    cell: ({ ready }) => <State tone={ready ? 'good' : 'wait'}>{ready ? 'Ready' : 'not ready'}</State>,
  },
  { name: 'node', title: 'Node', needs: 'medium', value: ({ node }) => node },
  { name: 'selected', title: 'Behind the Service', needs: 'wide', value: ({ selected }) => (selected ? 'yes' : 'no') },
  { name: 'addresses', title: 'Addresses', value: ({ mount }) => (mount === undefined ? '' : addressText(mount)) || '–' },
  {
    name: 'waits',
    title: 'The mount waits for',
    needs: 'medium',
    value: ({ mount }) => mount?.waits,
    cell: ({ mount }) => (mount?.waits === undefined ? '–' : <Message text={mount.waits} />),
  },
];

const mountColumns: readonly Column<MountView>[] = [
  { name: 'claim', title: 'Claim', value: ({ claim }) => claim },
  {
    name: 'listener',
    title: 'Listener',
    value: ({ listener }) => listener,
    cell: ({ listener }) => (listener === undefined ? '–' : <a href={href(['exposure', 'listeners', listener])}>{listener}</a>),
  },
  { name: 'addresses', title: 'Addresses', value: (mount) => addressText(mount) || '–' },
  { name: 'ports', title: 'Ports', needs: 'medium', value: ({ ports }) => ports.join(', ') || '–' },
  { name: 'scope', title: 'Reach', needs: 'wide', value: ({ scope }) => (scope === 'Node' ? 'pods of this node' : scope && 'all pods') },
  { name: 'pinned', title: 'Pinned to', needs: 'medium', value: ({ pinnedTo }) => pinnedTo.join(', ') || '–' },
  {
    name: 'waits',
    title: 'Waits for',
    needs: 'medium',
    value: ({ waits }) => waits,
    cell: ({ waits }) => (waits === undefined ? '–' : <Message text={waits} />),
  },
];

const ingressColumns: readonly Column<ExposedListenerDetailView['ingress'][number]>[] = [
  { name: 'address', title: 'Address', value: ({ address }) => address },
  { name: 'type', title: 'Type', value: ({ type }) => type },
  { name: 'ports', title: 'Ports', value: ({ ports }) => ports },
];

const volumeColumns: readonly Column<VolumeView>[] = [
  { name: 'claim', title: 'Claim', value: ({ claim }) => claim },
  { name: 'volume', title: 'PersistentVolume', needs: 'medium', value: ({ name }) => name },
  { name: 'phase', title: 'Phase', value: ({ phase }) => phase },
  { name: 'pinned', title: 'Pinned to', value: ({ pinnedTo }) => pinnedTo.join(', ') || '–' },
];

const eventColumns: readonly Column<EventView>[] = [
  {
    name: 'type',
    title: 'Type',
    value: ({ type }) => type,
    cell: ({ type }) => <State tone={type === 'Warning' ? 'bad' : 'quiet'}>{type}</State>,
  },
  { name: 'reason', title: 'Reason', value: ({ reason }) => reason },
  messageColumn,
  { name: 'reporter', title: 'From', needs: 'wide', value: ({ reporter }) => reporter },
  { name: 'at', title: 'Ago', isNumber: true, needs: 'medium', value: ({ at }) => Date.parse(at), cell: ({ at }) => <Since time={at} /> },
];
