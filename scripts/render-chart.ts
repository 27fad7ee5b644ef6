/**
 * Renders the chart into deploy/, for those who have no Helm at hand: earshot.yaml with its default values, earshot-sites.yaml with the
 * connection half alone.
 *
 *   node scripts/render-chart.ts           writes them
 *   node scripts/render-chart.ts --check   fails when what is checked in differs
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { argumentsOf } from './arguments.ts';
import { chartManifests, renderManifest } from './chart-manifests.ts';

const { values } = argumentsOf('node scripts/render-chart.ts [--check]', { options: { check: { type: 'boolean' } } });

const ROOT = fileURLToPath(new URL('..', import.meta.url));

for (const manifest of chartManifests) {
  const text = await renderManifest(manifest);
  const path = `${ROOT}${manifest.file}`;
  if (values.check !== true) writeFileSync(path, text);
  else if (readIfAny(path) !== text) {
    console.error(`${manifest.file} is not what the chart renders; run: node scripts/render-chart.ts`);
    process.exitCode = 1;
  }
}

function readIfAny(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
