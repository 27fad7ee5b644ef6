/** Grafana dashboards of the chart and the examples, from a short description of each. */

interface Query {
  readonly expr: string;
  readonly legend?: string;
}

interface Panel {
  readonly title: string;
  readonly type: 'stat' | 'timeseries';
  readonly queries: readonly Query[];
  readonly unit?: string;
  readonly description?: string;
}

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  /** Metric whose values of a label can be chosen, by label. */
  readonly variables: Readonly<Record<string, string>>;
  readonly panels: readonly Panel[];
}

const stat = (title: string, expr: string, more: Partial<Panel> = {}): Panel => ({ title, type: 'stat', queries: [{ expr }], ...more });
const series = (title: string, queries: readonly Query[], more: Partial<Panel> = {}): Panel => ({
  title,
  type: 'timeseries',
  queries,
  ...more,
});
const rate = (metric: string): string => `rate(${metric}[$__rate_interval])`;
const quantile = (q: number, by: string, metric: string): string => `histogram_quantile(${q}, sum by (le, ${by}) (${rate(metric)}))`;

/** Chosen routers. */
const AT = 'instance=~"$instance"';
const KEY = `${AT}, routing_key=~"$routing_key"`;
const ofRouter = (metric: string): string => `earshot_router_${metric}{${AT}}`;
/** Adds the name of the site in the label `site`. */
const named = (expr: string): string => `${expr} * on (job, instance, site) group_left (name) earshot_router_site_info`;
/** At most so many series in panels with one for each routing key. */
const MOST_KEYS = 20;
const most = (expr: string): string => `topk(${MOST_KEYS}, ${expr})`;

const exposure: Dashboard = {
  uid: 'earshot-exposure',
  title: 'Earshot: exposure',
  variables: {},
  panels: [
    stat('Listeners', 'sum(max by (class, ready) (earshot_listeners)) or vector(0)'),
    stat('Listeners that are not ready', 'sum(max by (class, ready) (earshot_listeners{ready!="True"})) or vector(0)', {
      description: '`kubectl get listeners.listeners.stackable.tech -A` lists them. `earshot explain lsn NAME` says why.',
    }),
    stat('Mounts that wait', 'max(earshot_mounts{state="waiting"}) or vector(0)', {
      description: '`earshot explain pod NAME` says what they wait for.',
    }),
    stat('Failed reconciles a minute', `60 * sum(${rate('earshot_reconciles_total{outcome=~"error|terminal"}')}) or vector(0)`),
    series('Listeners by class', [{ expr: 'sum by (class) (max by (class, ready) (earshot_listeners))', legend: '{{class}}' }]),
    series('Listeners by state of Ready', [{ expr: 'sum by (ready) (max by (class, ready) (earshot_listeners))', legend: '{{ready}}' }]),
    series('Mounts', [{ expr: 'max by (state) (earshot_mounts)', legend: '{{state}}' }]),
    series('Mounted volumes by node driver', [{ expr: 'earshot_csi_published_volumes', legend: '{{instance}}' }]),
    series('Volumes with outdated files', [{ expr: 'earshot_csi_volumes_stale', legend: '{{instance}}' }]),
    series(
      'CSI calls a second',
      [{ expr: `sum by (method, status) (${rate('earshot_csi_calls_total')})`, legend: '{{method}} {{status}}' }],
      { unit: 'ops' },
    ),
    series(
      'Checked volume files a second',
      [{ expr: `sum by (result) (${rate('earshot_csi_tree_writes_total')})`, legend: '{{result}}' }],
      { unit: 'ops' },
    ),
    series('Leading controllers', [{ expr: 'sum by (job) (earshot_leader)', legend: '{{job}}' }], {
      description: 'One for each controller, except for the moment of a change.',
    }),
    series('Events written a second', [{ expr: `sum by (outcome) (${rate('earshot_events_total')})`, legend: '{{outcome}}' }], {
      unit: 'ops',
    }),
    series(
      'Reconciles a second',
      [{ expr: `sum by (queue, outcome) (${rate('earshot_reconciles_total')})`, legend: '{{queue}} {{outcome}}' }],
      { unit: 'ops' },
    ),
    series(
      'Duration of a reconcile',
      [
        { expr: quantile(0.5, 'queue', 'earshot_reconcile_duration_seconds_bucket'), legend: '{{queue}} p50' },
        { expr: quantile(0.99, 'queue', 'earshot_reconcile_duration_seconds_bucket'), legend: '{{queue}} p99' },
      ],
      { unit: 's' },
    ),
    series(
      'Queued keys',
      [
        { expr: 'sum by (queue) (earshot_queue_depth)', legend: '{{queue}} for a worker' },
        { expr: 'sum by (queue) (earshot_queue_delayed)', legend: '{{queue}} for a later time' },
      ],
      { description: 'For a later time: backoff after a failure, or a scheduled reconcile.' },
    ),
    series(
      'Requests to the API server a second',
      [{ expr: `sum by (verb, resource) (${rate('earshot_api_requests_total')})`, legend: '{{verb}} {{resource}}' }],
      { unit: 'ops' },
    ),
    series(
      'Failed requests to the API server a second',
      [
        {
          expr: `sum by (verb, resource, code) (${rate('earshot_api_requests_total{code!~"2.."}')})`,
          legend: '{{verb}} {{resource}} {{code}}',
        },
      ],
      { unit: 'ops' },
    ),
    series(
      'Duration of a request to the API server, p99',
      [{ expr: quantile(0.99, 'verb', 'earshot_api_request_duration_seconds_bucket{verb!="watch"}'), legend: '{{verb}}' }],
      { unit: 's' },
    ),
    series(
      'Resident memory',
      [
        { expr: 'process_resident_memory_bytes and on (job, instance) earshot_leader', legend: '{{job}} {{instance}}' },
        { expr: 'max(process_resident_memory_bytes and on (job, instance) earshot_csi_published_volumes)', legend: 'largest driver' },
      ],
      { unit: 'bytes' },
    ),
  ],
};

const sites: Dashboard = {
  uid: 'earshot-sites',
  title: 'Earshot: sites and links',
  variables: { instance: 'earshot_router_routers' },
  panels: [
    stat('Sites in reach', `count(count by (site) (earshot_router_site_info{${AT}}))`),
    stat('Links that are up', `sum(earshot_router_links{${AT}, direction="outgoing"})`, {
      description: 'Counted at the sites that opened them.',
    }),
    stat('Links that are down', `sum(${ofRouter('link_up')} == bool 0) or vector(0)`, {
      description: '`earshot explain link NAME` at the site of the Link says why.',
    }),
    stat('Days until the first certificate expires', `min(${ofRouter('certificate_days_left')})`),
    series('Links: 1 is up', [{ expr: ofRouter('link_up'), legend: '{{link}} at {{instance}}' }]),
    series('Round-trip time to neighbours', [{ expr: named(ofRouter('link_round_trip_seconds')), legend: '{{instance}} to {{name}}' }], {
      unit: 's',
    }),
    series(
      'Bytes on links a second',
      [
        { expr: `sum by (instance) (${rate(ofRouter('links_sent_bytes_total'))})`, legend: '{{instance}} sent' },
        { expr: `sum by (instance) (${rate(ofRouter('links_received_bytes_total'))})`, legend: '{{instance}} received' },
      ],
      { unit: 'Bps' },
    ),
    series('Bytes queued for neighbours', [{ expr: named(ofRouter('link_queued_bytes')), legend: '{{instance}} to {{name}}' }], {
      unit: 'bytes',
      description: 'Grows while a path is slower than its senders.',
    }),
    series('Open streams to neighbours', [{ expr: named(ofRouter('link_open_streams')), legend: '{{instance}} to {{name}}' }]),
    series(
      'Attempts to open links a second',
      [{ expr: `sum by (instance, outcome) (${rate(ofRouter('link_attempts_total'))})`, legend: '{{instance}} {{outcome}}' }],
      { unit: 'ops' },
    ),
    series(
      'Refused peers a second',
      [{ expr: `sum by (instance, reason) (${rate(ofRouter('peers_refused_total'))})`, legend: '{{instance}} {{reason}}' }],
      { unit: 'ops', description: 'Each client that is not an Earshot router counts, for example a port scan.' },
    ),
    series('Days until certificates expire', [{ expr: ofRouter('certificate_days_left'), legend: '{{bundle}} at {{instance}}' }]),
    series('Routers in reach', [{ expr: ofRouter('routers'), legend: '{{instance}}' }]),
    series(
      'Transit: connections a second between other routers',
      [
        { expr: `sum by (instance) (${rate(ofRouter('transit_connections_total'))})`, legend: '{{instance}}' },
        { expr: `sum by (instance) (${rate(ofRouter('transit_failed_total'))})`, legend: '{{instance}} failed' },
      ],
      { unit: 'ops' },
    ),
    series(
      'Transit: bytes a second between other routers',
      [{ expr: `sum by (instance) (${rate(ofRouter('transit_bytes_total'))})`, legend: '{{instance}}' }],
      { unit: 'Bps' },
    ),
    series('Event-loop delay', [{ expr: ofRouter('event_loop_delay_seconds'), legend: '{{instance}} {{quantile}}' }], {
      unit: 's',
      description: 'High values mean too little CPU.',
    }),
    series(
      'Memory of peers and connections',
      [
        { expr: `earshot_router_memory_held_bytes{${AT}, by="all"}`, legend: '{{instance}} held' },
        { expr: ofRouter('memory_budget_bytes'), legend: '{{instance}} budget' },
      ],
      { unit: 'bytes' },
    ),
    series(
      'Resident memory',
      [{ expr: `process_resident_memory_bytes{${AT}} and on (job, instance) earshot_router_routers`, legend: '{{instance}}' }],
      { unit: 'bytes' },
    ),
    series(
      'CPU',
      [{ expr: `${rate(`process_cpu_seconds_total{${AT}}`)} and on (job, instance) earshot_router_routers`, legend: '{{instance}}' }],
      { unit: 'percentunit', description: '100 % is one core.' },
    ),
  ],
};

const services: Dashboard = {
  uid: 'earshot-services',
  title: 'Earshot: services',
  variables: { instance: 'earshot_router_routers', routing_key: 'earshot_router_connections_open' },
  panels: [
    stat('Open connections of clients', `sum(earshot_router_connections_open{${KEY}, role="listener"})`),
    stat(
      'Failed connections a minute',
      `60 * sum(${rate(`earshot_router_connections_failed_total{${KEY}, role="listener"}`)}) or vector(0)`,
      { description: 'They reached no server.' },
    ),
    stat('Routing keys without a connector', `count(max by (routing_key) (earshot_router_key_reachable{${KEY}}) == 0) or vector(0)`, {
      description: '`earshot explain key KEY` at the site of the Listener says why.',
    }),
    stat('Servers set aside', `sum(${ofRouter('targets_set_aside')})`, { description: 'They refuse connections.' }),
    series(
      'Connections a second',
      [
        {
          expr: most(`sum by (routing_key) (${rate(`earshot_router_connections_opened_total{${KEY}, role="listener"}`)})`),
          legend: '{{routing_key}}',
        },
      ],
      { unit: 'ops' },
    ),
    series('Open connections', [
      { expr: most(`sum by (routing_key) (earshot_router_connections_open{${KEY}, role="listener"})`), legend: '{{routing_key}}' },
    ]),
    series(
      'Failed connections a second',
      [
        {
          expr: most(`sum by (routing_key, role, reason) (${rate(`earshot_router_connections_failed_total{${KEY}}`)})`),
          legend: '{{routing_key}} {{role}} {{reason}}',
        },
      ],
      { unit: 'ops' },
    ),
    series(
      'Time until a server accepts',
      [
        {
          expr: most(quantile(0.5, 'routing_key', `earshot_router_connect_seconds_bucket{${KEY}, role="listener"}`)),
          legend: '{{routing_key}} p50',
        },
        {
          expr: most(quantile(0.99, 'routing_key', `earshot_router_connect_seconds_bucket{${KEY}, role="listener"}`)),
          legend: '{{routing_key}} p99',
        },
      ],
      { unit: 's' },
    ),
    series(
      'Bytes to servers a second',
      [
        {
          expr: most(`sum by (routing_key) (${rate(`earshot_router_bytes_total{${KEY}, role="listener", direction="to_server"}`)})`),
          legend: '{{routing_key}}',
        },
      ],
      { unit: 'Bps' },
    ),
    series(
      'Bytes to clients a second',
      [
        {
          expr: most(`sum by (routing_key) (${rate(`earshot_router_bytes_total{${KEY}, role="listener", direction="to_client"}`)})`),
          legend: '{{routing_key}}',
        },
      ],
      { unit: 'Bps' },
    ),
    series(
      'Requests a second by status',
      [
        {
          expr: most(`sum by (routing_key, status) (${rate(`earshot_router_requests_total{${KEY}}`)})`),
          legend: '{{routing_key}} {{status}}',
        },
      ],
      { unit: 'reqps', description: 'Of Listeners whose observer sees HTTP.' },
    ),
    series(
      'Time until a response, p99',
      [{ expr: most(quantile(0.99, 'routing_key', `earshot_router_request_seconds_bucket{${KEY}}`)), legend: '{{routing_key}}' }],
      { unit: 's' },
    ),
    series(
      'Requests a second between sites',
      [
        {
          // Both ends are IDs; the router that counted knows the names of both.
          expr:
            `sum by (job, instance, from_site, to_site) (${rate(`earshot_router_requests_total{${KEY}}`)})` +
            ' * on (job, instance, from_site) group_left (from) label_replace(label_replace(earshot_router_site_info, "from_site", "$1", "site", "(.*)"), "from", "$1", "name", "(.*)")' +
            ' * on (job, instance, to_site) group_left (to) label_replace(label_replace(earshot_router_site_info, "to_site", "$1", "site", "(.*)"), "to", "$1", "name", "(.*)")',
          legend: '{{from}} to {{to}}',
        },
      ],
      { unit: 'reqps' },
    ),
    series('Routing keys: 1 has a connector in reach', [
      { expr: most(`max by (routing_key) (earshot_router_key_reachable{${KEY}})`), legend: '{{routing_key}}' },
    ]),
    series('Listeners that accept connections', [{ expr: ofRouter('listeners_listening'), legend: '{{instance}}' }]),
    series(
      'Refused clients a second',
      [{ expr: `sum by (instance, reason) (${rate(ofRouter('clients_refused_total'))})`, legend: '{{instance}} {{reason}}' }],
      { unit: 'ops', description: 'Before a server was chosen.' },
    ),
  ],
};

/** Content of each dashboard by its file name. */
export function dashboards(): ReadonlyMap<string, string> {
  return new Map(
    Object.entries({ exposure, sites, services }).map(([name, dashboard]) => [
      `${name}.json`,
      `${JSON.stringify(rendered(dashboard), null, 2)}\n`,
    ]),
  );
}

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

function rendered({ uid, title, variables, panels }: Dashboard): object {
  let place = { x: 0, y: 0 };
  return {
    title,
    uid,
    tags: ['earshot'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    links: [{ type: 'dashboards', tags: ['earshot'], asDropdown: true, title: 'Earshot', includeVars: true, keepTime: true }],
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' },
        ...Object.entries(variables).map(([label, metric]) => ({
          name: label,
          type: 'query',
          datasource: DATASOURCE,
          query: `label_values(${metric}, ${label})`,
          refresh: 2,
          multi: true,
          includeAll: true,
          allValue: '.*',
          current: { text: 'All', value: '$__all' },
        })),
      ],
    },
    annotations: { list: [] },
    panels: panels.map((panel, index) => {
      const [w, h] = panel.type === 'stat' ? [6, 4] : [12, 8];
      const gridPos = { ...place, w, h };
      place = place.x + w >= 24 ? { x: 0, y: place.y + h } : { x: place.x + w, y: place.y };
      return renderedPanel(panel, index + 1, gridPos);
    }),
  };
}

function renderedPanel({ title, type, queries, unit, description }: Panel, id: number, gridPos: object): object {
  return {
    id,
    title,
    type,
    ...(description === undefined ? {} : { description }),
    datasource: DATASOURCE,
    gridPos,
    targets: queries.map(({ expr, legend = '' }, index) => ({ refId: 'ABC'[index], expr, legendFormat: legend })),
    fieldConfig: { defaults: unit === undefined ? {} : { unit }, overrides: [] },
    ...(type === 'stat' ? { options: { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'none' } } : {}),
  };
}
