/**
 * Writes what follows from the schemas in src/api and the codes in src/errors: deploy/crds/*.yaml, docs/reference/*.md, and what
 * files are checked by without a cluster. Also the Grafana dashboards, and the chart's alerts as an example. With `--check` it writes nothing, and fails where a file differs.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { argumentsOf } from './arguments.ts';
import { stringify } from 'yaml';
import { customResourceDefinitions } from '../src/api/listeners/crds.ts';
import type { CustomResourceDefinition } from '../src/api/crd.ts';
import { skupperDefinitions } from '../src/api/skupper/crds.ts';
import { networkObserverDefinition } from '../src/api/skupper/network-observer-definition.ts';
import { cliManual } from './cli-manual.ts';
import { dashboards } from './dashboards.ts';
import { plantedFaultReference } from './fault-reference.ts';
import { limitReference } from './limit-reference.ts';
import { errorReference } from './error-reference.ts';
import { reference } from './reference.ts';
import * as skupperTexts from './reference-skupper.ts';
import * as listenersTexts from './reference-texts.ts';
import { pageForSkupper } from './skupper-table.ts';
import { specShapes } from './spec-shapes.ts';

/** The content of each file by its path below the repository. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const listeners = customResourceDefinitions();
  const skupper = skupperDefinitions();
  return new Map([
    ...listeners.map((definition) => [`deploy/crds/${definition.spec.names.plural}.yaml`, toYaml(definition, 'listeners')] as const),
    // Both groups have `listeners`.
    ...skupper.map((definition) => [`deploy/crds/skupper-${definition.spec.names.plural}.yaml`, toYaml(definition, 'skupper')] as const),
    ['deploy/crds/skupper-networkobservers.yaml', toYaml(networkObserverDefinition(), 'skupper')],
    ...[...dashboards()].flatMap(([name, content]) =>
      ['deploy/chart/files/dashboards', 'examples/dashboards'].map((folder) => [`${folder}/${name}`, content] as const),
    ),
    ['examples/connection/alerts.yaml', readFileSync(new URL('../deploy/chart/files/alerts/sites.yaml', import.meta.url), 'utf8')],
    ['docs/reference/listeners.md', reference(listeners, listenersTexts)],
    ['docs/reference/skupper.md', reference(skupper, skupperTexts)],
    ['docs/reference/cli.md', cliManual()],
    ['docs/from-skupper.md', pageForSkupper()],
    ['docs/reference/errors.md', errorReference()],
    ['docs/reference/limits.md', limitReference()],
    ['docs/reference/planted-faults.md', plantedFaultReference()],
    ['src/api/generated/spec-shapes.ts', specShapes()],
  ]);
}

/** The paths of the files that are missing or differ. */
export function staleFiles(root = new URL('..', import.meta.url)): readonly string[] {
  return [...generatedFiles()].filter(([path, content]) => readIfAny(new URL(path, root)) !== content).map(([path]) => path);
}

function toYaml(definition: CustomResourceDefinition, source: string): string {
  const header = `# Written by \`npm run generate\` from src/api/${source}: change it there.\n`;
  return header + stringify(definition, { lineWidth: 120, aliasDuplicateObjects: false });
}

function readIfAny(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function write(root = new URL('..', import.meta.url)): void {
  for (const [path, content] of generatedFiles()) {
    const file = new URL(path, root);
    mkdirSync(dirname(file.pathname), { recursive: true });
    writeFileSync(file, content);
    console.log(path);
  }
}

function check(): void {
  const stale = staleFiles();
  for (const path of stale) console.error(`${path} is not what its source says: run \`npm run generate\` and check the result in.`);
  if (stale.length > 0) process.exitCode = 1;
}

if (import.meta.main) {
  const { values } = argumentsOf('node scripts/generate.ts [--check]', { options: { check: { type: 'boolean' } } });
  if (values.check === true) check();
  else write();
}
