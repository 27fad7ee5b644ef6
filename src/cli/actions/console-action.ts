import { createInterface } from 'node:readline';
import { loadPage } from '../../console/page-assets.ts';
import { CONSOLE_HOST, serveConsole } from '../../console/server.ts';
import type { ConsoleSources } from '../../console/sources.ts';
import { Watcher } from '../../console/watcher.ts';
import { layoutOf } from '../../platform/linux/layout.ts';
import { askRouter, askRouterText } from '../../platform/linux/router-api.ts';
import { runningRouters } from '../../platform/linux/routers.ts';
import type { Resources } from '../../platform/resources.ts';
import { bounded } from '../../telemetry/boundary.ts';
import { VERSION } from '../../version.ts';
import { redacted } from '../output/redact.ts';
import { listenFailure } from '../processes/listen-failure.ts';
import { explainableKinds } from '../../explain/gather/explainable-kinds.ts';
import { machineSources as explainSources } from '../../explain/gather/machine-sources.ts';
import { serveConsoleLinks } from './console-links.ts';
import type { Context } from './waiting.ts';

export interface ConsoleOptions {
  readonly port: number;
  readonly publicUrl: readonly URL[];
  /** Bytes. */
  readonly historyMemory: number;
  /** Whether links come from `earshot console link` only: the output of a service goes to a log. */
  readonly service?: boolean;
}

/** Serves the console of a namespace of this machine until the signal is aborted. */
export async function runConsole(
  { resources, terminal }: Context,
  namespace: string,
  { port, publicUrl, historyMemory, service }: ConsoleOptions,
  until: AbortSignal,
): Promise<void> {
  const sources = machineSources(resources, namespace);
  const place = { where: resources.where, namespace, version: VERSION };
  const watcher = new Watcher(sources, { place, historyMemory });
  const assets = await loadPage();
  await watcher.read();
  await using server = await serveConsole({ sources, watcher, assets, port, publicUrls: publicUrl }).catch((error: unknown) => {
    throw listenFailure(error, { host: CONSOLE_HOST, port, option: '--port' });
  });
  if (service === true) {
    await using _links = await serveConsoleLinks(layoutOf(namespace), () => server.createLink());
    terminal.note(`The console of ${resources.where} is at port ${server.port}. \`earshot -n ${namespace} console link\` prints a link.\n`);
    await watcher.run(until);
    return;
  }
  terminal.note(`The console of ${resources.where} is at this link, which works once, within five minutes:\n`);
  terminal.out(`${server.createLink()}\n`);
  if (process.stdin.isTTY && terminal.isScreen === true) {
    terminal.note('Press Enter for another link, or Ctrl-C to stop.\n');
    const lines = createInterface({ input: process.stdin });
    const print = (): void => terminal.out(`${server.createLink()}\n`);
    lines.on('line', bounded('look/console-link', print));
    until.addEventListener('abort', () => lines.close(), { once: true });
  }
  await watcher.run(until);
}

/** Milliseconds. A router waits at most 5 s for other sites. */
const OBSERVE_PATIENCE = 7_000;

function machineSources(resources: Resources, namespace: string): ConsoleSources {
  const layout = layoutOf(namespace);
  return {
    resources,
    routers: async () => (await runningRouters(layout)).map(({ router }) => router),
    ask: (router, path) => askRouter(layout, router, path),
    metrics: (router) => askRouterText(layout, router, '/metrics'),
    observe: (router, site) =>
      askRouter(layout, router, `/v1/observe?site=${encodeURIComponent(site)}`, 'POST', AbortSignal.timeout(OBSERVE_PATIENCE)),
    redacted,
    explain: async (kind, name, probe) => {
      const found = await explainableKinds
        .find((each) => each.kind === kind && each.needsCluster === undefined)
        ?.explain({ site: explainSources(layout, resources), probe }, name);
      return found !== undefined && 'explanation' in found ? found.explanation : undefined;
    },
    now: () => Date.now(),
  };
}
