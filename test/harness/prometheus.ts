/** A real Prometheus for tests of dashboards and alerts, and what those ask of it. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';

const FILES = fileURLToPath(new URL('../../deploy/chart/files', import.meta.url));
const rulesFile = (name: string): string => path.join(FILES, 'alerts', `${name}.yaml`);

export const PROMETHEUS_PORT = 9095;

/** Addresses to scrape, by job. */
export type Targets = Readonly<Record<string, readonly string[]>>;

/** Writes its configuration into a folder. @returns the command that runs it */
export async function preparePrometheus(folder: string, targets: Targets, rules: readonly string[]): Promise<readonly string[]> {
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: rules.map(rulesFile),
    scrape_configs: Object.entries(targets).map(([job_name, addresses]) => ({ job_name, static_configs: [{ targets: addresses }] })),
  };
  await writeFile(path.join(folder, 'prometheus.yml'), stringify(config));
  return [
    'prometheus',
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${PROMETHEUS_PORT}`,
  ];
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

interface Rule {
  readonly name: string;
  readonly query: string;
  readonly state: 'inactive' | 'pending' | 'firing';
  readonly health: string;
  readonly lastError?: string;
}

/** Its API. */
export class PrometheusApi {
  readonly #get: (path: string) => Promise<string>;

  /** @param get returns the body of a path, also of an error's answer */
  constructor(get: (path: string) => Promise<string>) {
    this.#get = get;
  }

  async query(expr: string): Promise<readonly Series[]> {
    return (await this.#ask<{ readonly result: readonly Series[] }>(`/api/v1/query?query=${encodeURIComponent(expr)}`)).result;
  }

  async rules(): Promise<readonly Rule[]> {
    const { groups } = await this.#ask<{ readonly groups: readonly { readonly rules: readonly Rule[] }[] }>('/api/v1/rules');
    return groups.flatMap(({ rules }) => rules);
  }

  async #ask<T>(at: string): Promise<T> {
    const answer = JSON.parse(await this.#get(at)) as { readonly status: string; readonly error?: string; readonly data: T };
    if (answer.status !== 'success') throw new Error(`${decodeURIComponent(at)}: ${answer.error}`);
    return answer.data;
  }
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

/** Queries of a dashboard that show nothing, or whose legend names a label that no series has. Each is `panel: query`. */
export async function emptyPanels(api: PrometheusApi, name: string): Promise<readonly string[]> {
  const { panels } = JSON.parse(readFileSync(path.join(FILES, 'dashboards', `${name}.json`), 'utf8')) as Dashboard;
  const queries = panels.flatMap(({ title, targets }) => targets.map((target) => ({ title, ...target })));
  const empty = await Promise.all(
    queries.map(async ({ title, expr, legendFormat }) => {
      // Grafana fills in its variables. A default of zero would hide a query that finds nothing.
      const filled = expr.replaceAll('$__rate_interval', '10s').replaceAll(/\$(?:instance|routing_key)\b/g, '.*');
      const found = await api.query(filled.replace(/ or vector\(0\)$/, ''));
      const shown = found.filter(({ value: [, value] }) => value !== 'NaN');
      const labels = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
      const isShown = shown.length > 0 && labels.every((label) => shown.some(({ metric }) => (metric[label] ?? '') !== ''));
      return isShown ? [] : [`${title}: ${expr}`];
    }),
  );
  return empty.flat();
}

/** Metrics in the conditions of alerts that no process has, as `alert: metric`. Excluding matchers are left out: they hide what is healthy. */
export async function missingMetrics(api: PrometheusApi, name: string): Promise<readonly string[]> {
  const { groups } = parse(readFileSync(rulesFile(name), 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
  };
  const asked = groups.flatMap(({ rules }) =>
    rules.flatMap(({ alert, expr }) =>
      [...expr.matchAll(/(\bup\b|\bearshot_[a-z_]+)(\{[^}]*\})?/g)].map(([, metric, matchers = '']) => ({
        alert,
        selector: `${metric}${matchers.replaceAll(/\w+!=?~?"[^"]*",? ?/g, '')}`,
      })),
    ),
  );
  const missing = await Promise.all(
    asked.map(async ({ alert, selector }) => ((await api.query(selector)).length > 0 ? [] : [`${alert}: ${selector}`])),
  );
  return missing.flat();
}
